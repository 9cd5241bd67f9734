// Timelines, drawn as SVG from summaries: the lanes of one task, and the bars of a fleet. A table says the same.
import { html, useLayoutEffect, useRef, useState, useTick } from "./parts.js";
import { clock, clockWords, dayWords, hourWords, localSteps, ms, short } from "./time.js";

const LANES = ["state", "attempts", "waits", "judgement"];
const LEFT = 78, HIGH = 22, GAP = 8, AXIS = 22;
const FOLDED = 46; // pixels of a wait that is folded

/** How wide an element is. @returns {[any, number]} */
export function useWidth() {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(280);
  useLayoutEffect(() => {
    if (!box.current) return;
    setWidth(Math.max(280, box.current.clientWidth)); // before the first paint: nothing is drawn wider than its place
    const seen = new ResizeObserver(([entry]) => setWidth(Math.max(280, entry.contentRect.width)));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  return [box, width];
}
/** From time to place; folded spans take little room. @param {number} from @param {number} to @param {number} width @param {{from: number, to: number}[]} folds */
function scale(from, to, width, folds) {
  const folded = folds.reduce((sum, each) => sum + (each.to - each.from), 0);
  const room = Math.max(10, width - LEFT - 12 - folds.length * FOLDED);
  const per = room / Math.max(1, to - from - folded);
  return (/** @type {number} */ at) => {
    let x = LEFT, last = from;
    for (const each of folds) {
      if (at <= each.from) break;
      x += (each.from - last) * per;
      if (at < each.to) return x + (FOLDED * (at - each.from)) / (each.to - each.from);
      x += FOLDED;
      last = each.to;
    }
    return x + (Math.max(last, at) - last) * per;
  };
}
/** Round marks of time. @param {number} from @param {number} to @param {number} most */
export function ticks(from, to, most) {
  const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);
  const step = steps.find((each) => (to - from) / each <= most) || steps[steps.length - 1];
  return { marks: localSteps(from, to, step), words: (/** @type {number} */ at) => (step >= 86400000 ? dayWords(at) : step >= 60000 ? hourWords(at) : clockWords(at)) };
}
/** Hatches and dots over a bar: what the colour says is said twice. @param {{token: string, x: number, y: number, w: number, high: number}} props */
export function Pattern({ token, x, y, w, high }) {
  if (!(w >= 6 && w < 5000)) return null;
  const marks = [];
  if (token === "wait") for (let at = x + 4; at < x + w - 1; at += 7) marks.push(html`<line class="p-line" x1=${at} y1=${y + high - 2} x2=${Math.min(at + high / 2, x + w)} y2=${y + 2} />`);
  if (token === "held") for (let at = x + 4; at < x + w - 2; at += 7) marks.push(html`<circle class="p-dot" cx=${at} cy=${y + high / 2} r="1.7" />`);
  if (token === "fail") for (let at = x + 3; at < x + w - 6; at += 9) marks.push(html`<path class="p-line" fill="none" d=${`M${at} ${y + 3}l6 ${high - 6}m0 ${6 - high}l-6 ${high - 6}`} />`);
  return html`<g aria-hidden="true" pointer-events="none">${marks.slice(0, 120)}</g>`;
}
/** A card with the words of a mark, on hover, focus and tap. */
function useTip() {
  const [tip, setTip] = useState(/** @type {any} */ (null));
  const on = (/** @type {string} */ words) => ({
    onMouseEnter: (/** @type {any} */ e) => setTip({ words, x: e.clientX, y: e.clientY }),
    onMouseMove: (/** @type {any} */ e) => setTip({ words, x: e.clientX, y: e.clientY }),
    onMouseLeave: () => setTip(null),
    onFocus: (/** @type {any} */ e) => { const r = e.target.getBoundingClientRect(); setTip({ words, x: r.left, y: r.bottom }); },
    onBlur: () => setTip(null),
    onClick: (/** @type {any} */ e) => setTip({ words, x: e.clientX, y: e.clientY }),
  });
  const card = tip ? html`<div class="tip" role="tooltip" style=${{ left: `${Math.min(tip.x + 12, innerWidth - 320)}px`, top: `${Math.min(tip.y + 14, innerHeight - 90)}px` }}>${tip.words}</div>` : null;
  return { on, card };
}
/** @param {number} at @param {number} [to] */
const span = (at, to) => `${clockWords(at)}${to ? ` – ${clockWords(to)}, ${short(to - at)}` : ""}`;

/** The life of a task. @param {{data: any, open?: (number: number) => void}} props */
export function Lanes({ data, open }) {
  const now = useTick();
  const [box, width] = useWidth();
  const [true_, setTrue] = useState(false);
  const tip = useTip();
  const from = ms(data.from), ended = data.until !== data.now;
  const coming = data.coming.filter((/** @type {any} */ each) => ms(each.at) > now).slice(0, 5);
  const end = ended ? ms(data.until) : now;
  const past = Math.max(1000, end - from);
  const future = coming.length ? Math.min(ms(coming[coming.length - 1].at), end + Math.max(past * 0.6, 60000)) : end;
  const to = Math.max(end + past * 0.02, future + past * 0.02);
  const waits = data.waits.map((/** @type {any} */ each) => ({ ...each, a: ms(each.from), b: Math.min(each.to ? ms(each.to) : ended ? end : now, to) })).filter((/** @type {any} */ each) => each.b > each.a);
  const folds = true_ ? [] : foldable(waits, data.attempts, from, to, now);
  const x = scale(from, to, width, folds);
  const row = (/** @type {number} */ n) => 4 + n * (HIGH + GAP);
  const high = row(4) + AXIS;
  const bar = (/** @type {any} */ each, /** @type {number} */ lane, /** @type {any} */ more = {}) => {
    const a = x(ms(each.from)), b = Math.max(a + 3, x(each.to ? ms(each.to) : ended ? end : now)), y = row(lane);
    const words = `${each.words} (${span(ms(each.from), each.to ? ms(each.to) : undefined)})`;
    const room = more.label && b - a > more.label.length * 7 ? more.label.length * 7 + 6 : 0;
    return html`<g><rect class="bar hit f-${each.token} ${more.hollow ? "f-hollow" : ""}" x=${a} y=${y} width=${b - a} height=${HIGH} rx="2" tabindex="0" role="img" aria-label=${words} ...${tip.on(words)} onDblClick=${more.open} />${more.hollow ? null : html`<${Pattern} token=${each.token} x=${a + room} y=${y} w=${b - a - room} high=${HIGH} />`}${more.label && b - a > more.label.length * 7 ? html`<text class=${more.hollow || each.token === "idle" || each.token === "wait" ? `t-${each.token}` : "t-on"} x=${a + 5} y=${y + 15} pointer-events="none">${more.label}</text>` : null}</g>`;
  };
  const { marks, words } = ticks(from, to, Math.max(2, width / 110));
  return html`<div ref=${box}><svg class="lanes" viewBox=${`0 0 ${width} ${high}`} height=${high} role="group" aria-label="timeline">
    ${LANES.map((name, n) => html`<text class="lane" x="0" y=${row(n) + 15}>${name}</text><line class="axis" x1=${LEFT} x2=${width} y1=${row(n) + HIGH + GAP / 2} y2=${row(n) + HIGH + GAP / 2} />`)}
    ${marks.filter((at) => !folds.some((each) => at > each.from && at < each.to)).map((at) => html`<g><line class="axis" x1=${x(at)} x2=${x(at)} y1="0" y2=${row(4)} opacity=".5" /><text x=${x(at) + 3} y=${high - 6}>${words(at)}</text></g>`)}
    ${data.state.map((/** @type {any} */ each) => bar(each, 0, { label: each.glyph }))}
    ${data.attempts.map((/** @type {any} */ each) => bar(each, 1, { hollow: !each.charged && each.token === "fail", label: `${each.number}${each.glyph}`, open: open && (() => open(each.number)) }))}
    ${waits.map((/** @type {any} */ each) => bar({ ...each, to: each.to || (ended ? data.until : null) }, 2, { label: each.words.split(",")[0] }))}
    ${data.judgement.map((/** @type {any} */ each) => { const said = `${each.words} (${clockWords(ms(each.at))})`; return html`<text class="hit t-${each.token}" font-size="15" x=${x(ms(each.at)) - 6} y=${row(3) + 16} tabindex="0" role="img" aria-label=${said} ...${tip.on(said)}>${each.glyph}</text>`; })}
    ${folds.map((each) => html`<g><rect class="fold" x=${x(each.from)} y="0" width=${FOLDED} height=${row(4)} opacity=".82" /><text x=${x(each.from) + 2} y=${high - 6}>⁄⁄ ${short(each.to - each.from)} ⁄⁄</text></g>`)}
    ${coming.map((/** @type {any} */ each) => { const at = ms(each.at), said = `${each.words}, ${clockWords(at)}`; return at <= to ? html`<rect class="future hit" x=${x(at)} y=${row(1)} width="9" height=${HIGH} rx="2" tabindex="0" role="img" aria-label=${said} ...${tip.on(said)} />` : null; })}
    ${ended ? null : html`<g><line class="nowline" x1=${x(now)} x2=${x(now)} y1="0" y2=${row(4)} /><text x=${Math.min(x(now) + 3, width - 26)} y="10">now</text></g>`}
  </svg>${tip.card}</div>
  <div class="row dim"><button class="plain" aria-pressed=${true_} onClick=${() => setTrue(!true_)}>true scale</button><details><summary>as table</summary><${LaneTable} data=${data} /></details></div>`;
}
/** Long waits in which nothing else happened. @param {any[]} waits @param {any[]} attempts @param {number} from @param {number} to @param {number} now */
function foldable(waits, attempts, from, to, now) {
  const total = to - from;
  return waits.filter((each) => each.b - each.a > total * 0.4 && !attempts.some((one) => ms(one.from) < each.b && (one.to ? ms(one.to) : now) > each.a))
    .map((each) => ({ from: each.a + total * 0.03, to: each.b - total * 0.03 })).sort((one, two) => one.from - two.from)
    .filter((each, n, all) => n === 0 || each.from >= all[n - 1].to).slice(0, 2);
}
/** The same as a table. @param {{data: any}} props */
function LaneTable({ data }) {
  const rows = [...data.state.map((/** @type {any} */ e) => ["state", e]), ...data.attempts.map((/** @type {any} */ e) => ["attempt", e]), ...data.waits.map((/** @type {any} */ e) => ["wait", e]), ...data.judgement.map((/** @type {any} */ e) => ["judgement", { ...e, from: e.at }])]
    .sort((one, two) => ms(one[1].from) - ms(two[1].from));
  return html`<table class="twin"><thead><tr><th>lane</th><th>from</th><th>to</th><th>what</th></tr></thead><tbody>${rows.map(([lane, each]) => html`<tr><td>${lane}</td><td>${clockWords(ms(each.from))}</td><td>${each.to ? clockWords(ms(each.to)) : ""}</td><td>${each.glyph || ""} ${each.words}${lane === "attempt" && !each.charged && each.token === "fail" ? " (not counted)" : ""}</td></tr>`)}</tbody></table>`;
}

const BARS_MAX = 2000; // more are drawn as bins: how many there were, and whether one failed
const BIN = 6;
/** The attempts of a task by places of a few pixels. @param {any[]} attempts @param {(at: number) => number} place @param {number} now */
function binned(attempts, place, now) {
  /** @type {Map<number, any>} */
  const bins = new Map();
  for (const one of attempts) {
    const at = Math.floor(place(one.to ? ms(one.to) : now) / BIN), was = bins.get(at) || { at: at * BIN, number: 0, failed: 0, running: 0 };
    bins.set(at, { ...was, number: was.number + 1, failed: was.failed + (one.token === "fail" ? 1 : 0), running: was.running + (one.token === "run" ? 1 : 0) });
  }
  return [...bins.values()];
}
/** The bars of many tasks. @param {{data: any, from: number, to: number, open: (id: string) => void, at: number}} props */
export function FleetLanes({ data, from, to, open, at: current }) {
  const now = useTick();
  const [box, width] = useWidth();
  const tip = useTip();
  const left = Math.min(210, width * 0.34), step = 24;
  const x = (/** @type {number} */ at) => left + ((at - from) / (to - from)) * (width - left - 8);
  const clip = (/** @type {number} */ at) => Math.max(left, Math.min(width - 6, x(at)));
  /** @type {any[]} */
  const lines = [];
  let group = "";
  for (const row of data.rows) {
    if (row.group !== group) { group = row.group; lines.push({ head: group === "held" ? "held by incidents and breakers" : group === "recurring" ? "recurring" : "one-off" }); }
    lines.push({ row });
  }
  const high = lines.length * step + AXIS + 8;
  const { marks, words } = ticks(from, to, Math.max(2, (width - left) / 110));
  let index = -1;
  const dense = data.rows.reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + row.attempts.length, 0) > BARS_MAX;
  return html`<div ref=${box}>${dense ? html`<p class="dim">many attempts: each mark stands for all that ended there; zoom in for single ones</p>` : null}<svg class="lanes" viewBox=${`0 0 ${width} ${high}`} height=${high} role="group" aria-label="timeline of the fleet">
    ${marks.map((at) => html`<g><line class="axis" x1=${x(at)} x2=${x(at)} y1="14" y2=${high} opacity=".55" /><text x=${x(at) + 3} y="10">${words(at)}</text></g>`)}
    ${lines.map((each, n) => {
      const y = n * step + 4 + AXIS;
      if (each.head) return html`<text class="lane" x="0" y=${y + 13}>${each.head}</text>`;
      index += 1;
      const row = each.row, chosen = index === current, due = ms(row.next_at);
      const wait = row.phrase.token === "wait" || row.phrase.token === "held" || row.phrase.token === "you" ? [ms(row.since), now] : null;
      const said = `${row.id} ${row.title}: ${row.phrase.words}`;
      return html`<g data-at=${chosen ? 1 : 0}>${chosen ? html`<rect x="0" y=${y - 3} width=${width} height=${step - 1} fill="var(--ground-2)" />` : null}
        <a href=${`/tasks/${row.id}`}><text class="t-${row.phrase.token}" x="0" y=${y + 13}>${row.phrase.glyph}</text><text x="16" y=${y + 13} ...${tip.on(said)}>${cutTo(`${row.id} ${row.title}`, (left - 22) / 6.2)}</text></a>
        ${wait && wait[1] > from ? html`<g><rect class="bar f-${row.phrase.token}" opacity=".8" x=${clip(wait[0])} y=${y + 4} width=${Math.max(1, clip(wait[1]) - clip(wait[0]))} height="9" ...${tip.on(`${row.phrase.words} since ${clockWords(wait[0])}`)} /><${Pattern} token=${row.phrase.token} x=${clip(wait[0])} y=${y + 4} w=${clip(wait[1]) - clip(wait[0])} high=${9} /></g>` : null}
        ${dense ? binned(row.attempts, clip, now).map((one) => { const words = `${row.title}: ${one.number} attempts ended here${one.failed ? `, ${one.failed} failed` : ""}`, token = one.failed ? "fail" : one.running ? "run" : "done", tall = Math.min(17, 5 + 3 * one.number); return html`<rect class="bar bin hit f-${token}" x=${one.at} y=${y + 17 - tall} width=${BIN - 1} height=${tall} tabindex="0" role="img" aria-label=${words} ...${tip.on(words)} onDblClick=${() => open(row.id)} />`; }) : row.attempts.map((/** @type {any} */ one) => { const a = clip(ms(one.from)), b = Math.max(a + 3, clip(one.to ? ms(one.to) : now)); return html`<g><rect class="bar hit f-${one.token}" x=${a} y=${y} width=${b - a} height="17" rx="2" tabindex="0" role="img" aria-label=${`${row.id} ${one.words}`} ...${tip.on(`${row.title}: ${one.words}`)} onDblClick=${() => open(row.id)} /><${Pattern} token=${one.token} x=${a} y=${y} w=${b - a} high=${17} />${b - a > 16 ? html`<text class="t-on" x=${a + 3} y=${y + 13} pointer-events="none">${one.glyph}</text>` : null}</g>`; })}
        ${due > now && due <= to ? html`<rect class="future" x=${x(due)} y=${y} width="9" height="17" rx="2" ...${tip.on(`${row.title}: next ${clockWords(due)}`)} />` : null}</g>`;
    })}
    <line class="nowline" x1=${x(now)} x2=${x(now)} y1="14" y2=${high} /><text x=${x(now) + 3} y="24">now</text></svg>${tip.card}</div>`;
}
/** @param {string} text @param {number} most */
const cutTo = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);
export const serverNow = () => clock.now();
