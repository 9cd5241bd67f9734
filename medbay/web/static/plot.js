// Plots: a sentence as title, the number of cases, a table twin and CSV. Colours come from the tokens, ticks from our clock.
import drawing from "./vendor/uplot.js";
import { html, many, useEffect, useRef, useState } from "./parts.js";
import { ticks, useWidth } from "./timeline.js";
import { dateWords, dayStart, hourWords, localSteps, ms, zone } from "./time.js";

const uPlot = /** @type {any} */ (drawing);
const HOUR = 3600000;
const ORDER = ["transient", "test_failure", "code_error", "timeout", "resource_exhaustion", "dependency_missing", "unknown"];
const FILLS = ["held", "wait", "fail", "you", "run", "done", "idle"];

/** @param {string} name */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
/** Fixed by category, so that the same failure has the same colour everywhere. @param {string} name @param {number} [at] */
export function fillOf(name, at) {
  const known = ORDER.indexOf(name.split("/")[0]);
  return `${FILLS[known >= 0 ? known : (at || 0) % FILLS.length]}-fill`;
}
/** @param {{rows: (string | number)[][], head: string[], name: string}} props */
function Twin({ rows, head, name }) {
  const csv = () => {
    const text = [head, ...rows].map((row) => row.map((each) => `"${String(each).replaceAll('"', '""')}"`).join(",")).join("\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return html`<details class="dim"><summary>as table</summary><div class="scroll" style=${{ maxHeight: "20rem", overflow: "auto" }}><table><thead><tr>${head.map((each) => html`<th>${each}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${row.map((each, n) => html`<td class=${n && typeof each === "number" ? "num" : ""}>${each}</td>`)}</tr>`)}</tbody></table></div><button class="plain" onClick=${csv}>CSV</button></details>`;
}
/** A frame around uPlot that follows width, theme and zone. @param {{make: (width: number) => {options: any, data: any[]}, height: number, mark: string, label: string}} props */
function Drawn({ make, height, mark, label }) {
  const [box, width] = useWidth();
  const inner = useRef(/** @type {HTMLElement | null} */ (null));
  const [, again] = useState(0);
  useEffect(() => { const changed = () => again((n) => n + 1); addEventListener("medbay:theme", changed); const away = zone.watch(changed); return () => { removeEventListener("medbay:theme", changed); away(); }; }, []);
  useEffect(() => {
    if (!inner.current) return;
    const { options, data } = make(width);
    const plot = new uPlot({ width, height, cursor: { drag: { x: false, y: false } }, legend: { show: false }, ...options }, data, inner.current);
    return () => plot.destroy();
  }, [width, mark, document.documentElement.dataset.theme, zone.name]);
  return html`<div ref=${box} role="img" aria-label=${label}><div ref=${inner} style=${{ minHeight: `${height}px` }}></div></div>`;
}
const axis = () => ({ stroke: css("text-2"), grid: { stroke: css("line-2"), width: 1 }, ticks: { stroke: css("line") }, font: "11px system-ui, sans-serif" });
/** Ticks come from our clock: uPlot knows only the zone of the machine. @param {number} from @param {number} to @param {number} width */
function timeAxis(from, to, width) {
  const { marks, words } = ticks(from, to, Math.max(2, width / 75));
  return { ...axis(), splits: () => marks.map((each) => each / 1000), filter: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map((each) => words(each * 1000)), size: 26 };
}

/** Stacked bars over time. `data`: since, until, series of {hour, name, n}. @param {{title: string, data: any, height?: number, link?: (name: string) => string, unit?: string, short?: (name: string) => string, value?: (each: any) => number, words?: (value: number) => string, line?: number | null}} props */
export function Stacked({ title, data, height = 190, link, unit = "", short = (name) => name.split("/")[0], value = (each) => each.n, words = many, line = null }) {
  const from = Math.floor(ms(data.since) / HOUR) * HOUR, to = ms(data.until);
  const step = to - from > 4 * 24 * HOUR ? 24 * HOUR : HOUR;
  const start = step > HOUR ? dayStart(from) : from;
  const starts = step > HOUR ? localSteps(start, to, step) : Array.from({ length: Math.max(1, Math.ceil((to - start) / step)) }, (_, n) => start + n * step);
  const bins = starts.length, end = step > HOUR ? dayStart(starts[bins - 1] + 30 * HOUR) : start + bins * step;
  const totals = /** @type {Map<string, number>} */ (new Map());
  for (const each of data.series) totals.set(short(each.name), (totals.get(short(each.name)) || 0) + value(each));
  const names = [...totals.keys()].sort((one, two) => rank(one) - rank(two) || (totals.get(two) || 0) - (totals.get(one) || 0));
  const values = names.map(() => new Array(bins).fill(0));
  for (const each of data.series) {
    let at = Math.min(bins - 1, Math.floor((ms(each.hour) - start + 2 * HOUR) / step));
    while (at >= 0 && starts[at] > ms(each.hour)) at -= 1; // a day is not always 24 hours long
    if (at >= 0) values[names.indexOf(short(each.name))][at] += value(each);
  }
  const total = [...totals.values()].reduce((sum, each) => sum + each, 0);
  const make = (/** @type {number} */ width) => {
    const xs = starts.map((each) => each / 1000);
    const stacked = values.map((_, n) => xs.map((__, x) => values.slice(n).reduce((sum, each) => sum + each[x], 0)));
    const bars = uPlot.paths.bars({ size: [0.86, 40], align: 1 });
    const most = Math.max(1e-9, line || 0, ...(stacked[0] || [0]));
    return { data: [xs, ...stacked, ...(line ? [xs.map(() => line)] : [])], options: {
      scales: { x: { time: true, range: [start / 1000, end / 1000] }, y: { range: [0, most * 1.08] } },
      axes: [timeAxis(start, end, width), { ...axis(), size: 44, values: (/** @type {any} */ __, /** @type {number[]} */ splits) => splits.map((each) => (unit === "$" || each === Math.round(each) ? words(each) : "")) }],
      series: [{}, ...names.map((name, n) => ({ label: name, fill: css(fillOf(name, n)), stroke: css(fillOf(name, n)), width: 0.5, paths: bars, points: { show: false } })), ...(line ? [{ label: "budget", stroke: css("text"), dash: [5, 4], width: 1.2, points: { show: false } }] : [])],
    } };
  };
  const rows = Array.from({ length: bins }, (_, n) => [step > HOUR ? dateWords(starts[n]) : `${dateWords(starts[n])} ${hourWords(starts[n])}`, ...values.map((each) => each[n])]);
  return html`<figure class="plot"><h3>${title}</h3><div class="sub">${words(total)} in all, by ${step > HOUR ? "day" : "hour"}</div>${total ? html`<${Drawn} make=${make} height=${height} mark=${JSON.stringify([values, bins, line])} label=${`${title}: ${names.map((name) => `${name} ${words(totals.get(name) || 0)}`).join(", ")}`} />
    <div class="legend">${names.map((name, n) => html`<a href=${link ? link(name) : "#"} style=${link ? {} : { pointerEvents: "none" }}><span class="swatch" style=${{ background: `var(--${fillOf(name, n)})` }}></span>${name} ${words(totals.get(name) || 0)}</a>`)}${line ? html`<span>┄ budget ${words(line)}</span>` : null}</div><${Twin} rows=${rows} head=${["when", ...names]} name=${title} />` : html`<p class="empty">Nothing in this window.</p>`}</figure>`;
}
/** @param {string} name */
const rank = (name) => (ORDER.indexOf(name) + 1 || 99);
/** A cumulative curve over a logarithmic scale of time. @param {{title: string, data: any}} props */
export function Healing({ title, data }) {
  const points = data.within;
  let sum = 0;
  const xs = points.map((/** @type {any} */ each) => each.s), ys = points.map((/** @type {any} */ each) => ((sum += each.n), (100 * sum) / data.n));
  const make = () => ({ data: [[1, ...xs], [0, ...ys]], options: {
    scales: { x: { time: false, distr: 3, range: [1, Math.max(60, ...xs) * 1.1] }, y: { range: [0, 100] } },
    axes: [{ ...axis(), size: 26, splits: () => [1, 10, 60, 600, 3600, 21600, 86400, 604800], filter: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map(duration) }, { ...axis(), size: 54, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map((each) => `${each} %`) }],
    series: [{}, { label: "healed", stroke: css("done"), fill: css("ground-2"), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
  } });
  return html`<figure class="plot"><h3>${title}</h3><div class="sub">${data.n ? `half within ${duration(data.p50_s)}, nine in ten within ${duration(data.p90_s)}, n=${many(data.n)}` : "n=0"}</div>${data.n ? html`<${Drawn} make=${make} height=${190} mark=${JSON.stringify(points)} label=${title} /><${Twin} rows=${points.map((/** @type {any} */ each) => [duration(each.s), each.n])} head=${["within", "healed"]} name=${title} />` : html`<p class="empty">Nothing had to heal in this window.</p>`}</figure>`;
}
/** @param {number | null} s */
export const duration = (s) => (s === null ? "–" : s < 1.5 ? "1s" : s < 60 ? `${Math.round(s)}s` : s < 3600 ? `${Math.round(s / 60)}m` : s < 86400 ? `${(s / 3600).toFixed(s < 36000 && s % 3600 ? 1 : 0)}h` : `${Math.round(s / 86400)}d`);
/** Bars side by side, from zero. @param {{title: string, sub: string, rows: [string, number][], words?: (value: number) => string, link?: (name: string) => string}} props */
export function Bars({ title, sub, rows, words = many, link }) {
  const most = Math.max(1e-9, ...rows.map((each) => each[1]));
  return html`<figure class="plot"><h3>${title}</h3><div class="sub">${sub}</div>${rows.length ? html`<table><tbody>${rows.map(([name, value]) => html`<tr><td style=${{ width: "9rem" }}>${link ? html`<a href=${link(name)}>${name}</a>` : name}</td><td><svg width="100%" height="14" preserveAspectRatio="none" viewBox="0 0 100 14" aria-hidden="true"><rect class="f-held" x="0" y="2" width=${(100 * value) / most} height="10" stroke="none" /></svg></td><td class="num" style=${{ width: "5rem" }}>${words(value)}</td></tr>`)}</tbody></table><${Twin} rows=${rows} head=${["what", "how many"]} name=${title} />` : html`<p class="empty">Nothing in this window.</p>`}</figure>`;
}
/** @param {{hours: any[], since: number, until: number}} props */
export function Spark({ hours, since, until }) {
  const bins = new Array(14).fill(0);
  for (const each of hours) bins[Math.min(13, Math.max(0, Math.floor((14 * (ms(each.hour) - since)) / (until - since))))] += each.n;
  const most = Math.max(1, ...bins);
  return html`<svg class="spark" width="84" height="18" aria-hidden="true">${bins.map((each, n) => html`<rect x=${n * 6} y=${18 - (16 * each) / most} width="5" height=${Math.max(each ? 1.5 : 0.5, (16 * each) / most)} />`)}</svg>`;
}
