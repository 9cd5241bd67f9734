// What every view is made of: data that stays fresh, times that tick, words, dialogs, lists that do not jump.
import { h, html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "./vendor/preact.js";
import { get, live, Refused } from "./api.js";
import { clock, clockWords, ms, short, ticking, zone } from "./time.js";

export { h, html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback };

// Going places

/** @type {Set<() => void>} */
const movers = new Set();
/** @param {string} path @param {boolean} [replace] */
export function go(path, replace = false) {
  if (path === location.pathname + location.search + location.hash) return;
  rememberScroll();
  history[replace ? "replaceState" : "pushState"]({ key: Math.random() }, "", path);
  for (const each of movers) each();
  if (!replace) scrollTo(0, 0);
}
/** @type {Map<string, number>} */
const scrolls = new Map();
const rememberScroll = () => scrolls.set(String(history.state && history.state.key), scrollY);
export function useRoute() {
  const [, again] = useState(0);
  useEffect(() => {
    const moved = () => again((n) => n + 1);
    movers.add(moved);
    addEventListener("popstate", moved);
    return () => { movers.delete(moved); removeEventListener("popstate", moved); };
  }, []);
  useLayoutEffect(() => {
    const at = scrolls.get(String(history.state && history.state.key));
    if (at) requestAnimationFrame(() => scrollTo(0, at));
  }, [location.pathname + location.search]);
  return new URL(location.href);
}
addEventListener("scroll", rememberScroll, { passive: true });
history.scrollRestoration = "manual";

// Time that ticks

/** @type {Set<() => void>} */
const tickers = new Set();
setInterval(() => { if (!document.hidden) for (const each of tickers) each(); }, 1000);
export function useTick() {
  const [, again] = useState(0);
  useEffect(() => {
    const tick = () => again((n) => n + 1);
    tickers.add(tick);
    const away = zone.watch(tick);
    return () => { tickers.delete(tick); away(); };
  }, []);
  return clock.now();
}
export const capacity = { busy: 0, total: 0 };

/** A moment: relative first, exact on hover and focus; a click copies it. @param {{at: string | null | undefined, form?: string, exact?: boolean}} props */
export function Time({ at, form = "ago", exact = false }) {
  const now = useTick();
  if (!at) return null;
  const when = ms(at);
  const words = said(form, when, now);
  const full = `${clockWords(when)} ${zone.words} · ${at}`;
  return html`<time datetime=${at} title=${`${full} (click copies)`} tabindex="0" onClick=${(/** @type {Event} */ e) => { e.preventDefault(); copy(at); }}>${words}${exact && Math.abs(when - now) > 1000 ? html` <span class="dim">· ${clockWords(when)}</span>` : null}</time>`;
}
/** @param {string} form @param {number} when @param {number} now */
function said(form, when, now) {
  const left = when - now;
  if (form === "in") {
    if (left > 0) return `in ${ticking(left)}`;
    if (left > -2000) return "due";
    if (left > -5000) return "starting";
    const full = capacity.total > 0 && capacity.busy >= capacity.total;
    return `late ${short(-left)}: ${full ? `no free slot (${capacity.busy} of ${capacity.total} busy)` : capacity.total ? "waits for its turn" : "no engine runs"}`;
  }
  if (form === "at") return left > 0 ? `${clockWords(when, false)} (in ${ticking(left)})` : "now";
  if (form === "until") return left > 0 ? `until ${clockWords(when, false)} (${ticking(left)})` : "is over";
  if (form === "for") return ticking(now - when);
  if (form === "clock") return clockWords(when);
  return Math.abs(left) >= 86400000 ? clockWords(when, false) : left > 0 ? `in ${ticking(left)}` : `${short(-left)} ago`;
}

/** How a task stands: glyph, words and its ticking time. @param {{phrase: any}} props */
export function Status({ phrase }) {
  const time = phrase.form ? html` <${Time} at=${phrase.at} form=${phrase.form} />` : null;
  return html`<span class="${phrase.token} status"><span aria-hidden="true">${phrase.glyph}</span> ${phrase.stem || phrase.words}${time}${phrase.more}</span>`;
}
/** A sentence of the server; the times in it are said in the zone of the reader. @param {{text: string}} props */
export function Words({ text }) {
  const parts = text.split(/⟨([^⟩]*)⟩/);
  return html`<span>${parts.map((part, at) => (at % 2 ? html`<${Time} at=${part} form="clock" />` : part))}</span>`;
}
/** @param {{fp: string | null}} props */
export const Fingerprint = ({ fp }) => (fp ? html`<a class="mono" href=${`/fingerprints/${encodeURIComponent(fp)}`}>${fp}</a>` : null);
/** @param {{id: string}} props */
export const TaskId = ({ id }) => html`<a class="id" href=${`/tasks/${encodeURIComponent(id)}`}>${id}</a>`;

// Data that stays fresh

/** @type {Map<string, any>} */
const kept = new Map();
/** Fetch, keep and fetch again when something happens. @param {string | null} path @param {{live?: boolean | ((events: any[]) => boolean), every?: number}} [options] */
export function useResource(path, options = {}) {
  const [state, setState] = useState(() => ({ path, data: path ? kept.get(path) : undefined, error: null, at: 0 }));
  const current = useRef(path);
  current.current = path;
  const asked = useRef(0), answered = useRef(0);
  const load = useCallback(async () => {
    if (!path) return;
    const turn = (asked.current += 1);
    try {
      const data = await get(path);
      if (turn < answered.current) return; // an answer that was overtaken shows what is over
      answered.current = turn;
      kept.set(path, data);
      if (kept.size > 40) kept.delete(kept.keys().next().value);
      if (current.current === path) setState({ path, data, error: null, at: Date.now() });
    } catch (error) {
      if (turn < answered.current) return;
      if (current.current === path) setState((was) => ({ ...was, path, data: was.path === path ? was.data : kept.get(path), error }));
    }
  }, [path]);
  useEffect(() => { setState({ path, data: path ? kept.get(path) : undefined, error: null, at: 0 }); load(); }, [path]);
  useEffect(() => {
    if (options.live === false) return;
    let timer = 0, due = false, last = 0;
    const run = () => { timer = 0; if (document.hidden) { due = true; return; } last = Date.now(); load(); };
    /** @param {any[]} events */
    const hear = (events) => {
      if (typeof options.live === "function" && events.length && !options.live(events)) return;
      if (!events.length) { clearTimeout(timer); run(); return; } // what this person did is seen at once
      if (!timer) timer = window.setTimeout(run, Math.max(120, 1000 - (Date.now() - last)));
    };
    const shown = () => { if (!document.hidden && due) { due = false; run(); } };
    live.hearers.add(hear);
    document.addEventListener("visibilitychange", shown);
    const beat = options.every ? setInterval(() => { if (!document.hidden) load(); }, options.every) : 0;
    return () => { live.hearers.delete(hear); document.removeEventListener("visibilitychange", shown); clearTimeout(timer); clearInterval(beat); };
  }, [path]);
  const mine = state.path === path;
  return { data: mine ? state.data : path ? kept.get(path) : undefined, error: mine ? state.error : null, at: state.at, reload: load };
}

/** Loading, errors and data of one section; the last good data stay, dated. @param {{of: any, children: any, height?: string}} props */
export function Loaded({ of, children, height = "8rem" }) {
  const [late, setLate] = useState(false);
  useEffect(() => { const timer = setTimeout(() => setLate(true), 150); return () => clearTimeout(timer); }, []);
  const problem = of.error ? html`<${Problem} error=${of.error} retry=${of.reload} at=${of.data ? of.at : 0} />` : null;
  if (!of.data) return problem || html`<div class=${late ? "skeleton" : ""} style=${{ height }} role="status"><span class="sr">loading</span></div>`;
  return html`${problem}${children(of.data)}`;
}
/** @param {{error: any, retry?: () => void, at?: number}} props */
export function Problem({ error, retry, at }) {
  return html`<div class="error" role="alert"><strong class="fail">✗ ${error.message}</strong> ${error.hint ? html`<span class="dim">· ${error.hint}</span>` : null}
    <div class="dim">${error instanceof Refused ? error.path : ""}${at ? html` · shown as of ${clockWords(at + clock.offset)}` : null} ${retry ? html`<button onClick=${retry}>Retry</button>` : null}</div></div>`;
}

// Lists that do not jump

/** Rows change in place; new ones and a new order wait until they are asked for. @template T @param {T[] | undefined} rows @param {(row: T) => string} key @param {string} name */
export function useSettled(rows, key, name) {
  const shown = useRef(/** @type {{name: string, ids: string[], last: Map<string, any>}} */ ({ name: "", ids: [], last: new Map() }));
  const [, again] = useState(0);
  const was = shown.current;
  const now = new Map((rows || []).map((row) => [key(row), row]));
  if (rows && (was.name !== name || !was.ids.length)) shown.current = { name, ids: [...now.keys()], last: now };
  const state = shown.current;
  const fresh = [...now.keys()].filter((id) => !state.ids.includes(id)).length;
  const gone = state.ids.filter((id) => !now.has(id)).length;
  const apply = () => { shown.current = { name, ids: [...now.keys()], last: now }; again((n) => n + 1); };
  const list = state.ids.map((id) => {
    const row = now.get(id);
    if (row) state.last.set(id, row);
    return { id, row: row || state.last.get(id), gone: Boolean(rows) && !row };
  });
  return { list, fresh, gone, apply };
}
/** The pill of what waits to be shown. @param {{number: number, show: () => void}} props */
export function Pill({ number, show }) {
  useKey(".", () => { if (number) show(); }, "show what is new");
  if (!number) return null;
  return html`<button class="pill" onClick=${show}>${number} new ▲</button>`;
}
/** One tint when a row changed. @param {any} value */
export function useTint(value) {
  const before = useRef(value), count = useRef(0);
  if (before.current !== value) { before.current = value; count.current += 1; }
  return count.current ? (count.current % 2 ? "fresh" : "fresh again") : "";
}

// Keys

/** @typedef {{key: string, does: (event: KeyboardEvent) => void, words: string}} Bound */
/** @type {Bound[]} */
export const bound = [];
/** @param {string} key @param {(event: KeyboardEvent) => void} does @param {string} words */
export function useKey(key, does, words) {
  const current = useRef(does);
  current.current = does;
  // bound before anything is painted: who sees a row may press its key
  useLayoutEffect(() => {
    const one = { key, does: (/** @type {KeyboardEvent} */ event) => current.current(event), words };
    bound.unshift(one);
    return () => { bound.splice(bound.indexOf(one), 1); };
  }, [key]);
}
let waiting = "";
addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.closest("input, textarea, select, [contenteditable]") && !(event.key === "Escape")) return;
  if (event.key === "Escape") { target.blur(); return; }
  if (["Enter", " ", "Tab", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Shift"].includes(event.key)) return;
  const typed = waiting ? `${waiting} ${event.key}` : event.key;
  waiting = "";
  const found = bound.find((each) => each.key === typed);
  if (found) { event.preventDefault(); found.does(event); return; }
  if (bound.some((each) => each.key.startsWith(`${typed} `))) { waiting = typed; setTimeout(() => { waiting = ""; }, 1200); }
});
/** Moving through rows with j and k, opening with o. @param {number} length @param {(at: number) => void} open */
export function useRows(length, open) {
  const [at, setAt] = useState(-1);
  const move = (/** @type {number} */ by) => setAt((was) => {
    const next = Math.max(0, Math.min(length - 1, was + by));
    requestAnimationFrame(() => { const row = document.querySelector("[data-at='1']"); if (row) row.scrollIntoView({ block: "nearest" }); });
    return next;
  });
  useKey("j", () => move(1), "next row");
  useKey("k", () => move(-1), "row before");
  useKey("o", () => { if (at >= 0 && at < length) open(at); }, "open the row");
  return at;
}

// Saying and asking

/** @type {(said: any) => void} */
let showToast = () => {};
/** @param {string} words @param {{bad?: boolean, undo?: () => void}} [more] */
export const toast = (words, more = {}) => showToast({ words, ...more, id: Math.random() });
export function Toast() {
  const [said, setSaid] = useState(/** @type {any} */ (null));
  showToast = setSaid;
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(null), said.undo || said.bad ? 10000 : 3500);
    return () => clearTimeout(timer);
  }, [said && said.id]);
  if (!said) return null;
  return html`<div class="toast ${said.bad ? "bad" : ""}" role="status">${said.words}${said.undo ? html`<button onClick=${() => { said.undo(); setSaid(null); }}>Undo</button>` : null}<button aria-label="close" onClick=${() => setSaid(null)}>×</button></div>`;
}
/** @type {(box: any) => void} */
let openBox = () => {};
/** Ask before something that cannot be undone, or for a few words. @param {{title: string, body?: any, ok: string, danger?: boolean, typed?: string, fields?: {name: string, label: string, value?: string, area?: boolean, options?: string[], needed?: boolean}[]}} box @returns {Promise<Record<string, string> | null>} */
export const askPerson = (box) => new Promise((done) => openBox({ ...box, done }));
export function DialogHost() {
  const [box, setBox] = useState(/** @type {any} */ (null));
  const [typed, setTyped] = useState("");
  const frame = useRef(/** @type {HTMLDialogElement | null} */ (null));
  openBox = (next) => { setTyped(""); setBox(next); };
  useEffect(() => { if (box && frame.current && !frame.current.open) frame.current.showModal(); }, [box]);
  if (!box) return null;
  const end = (/** @type {any} */ value) => { if (frame.current) frame.current.close(); setBox(null); box.done(value); };
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    end(Object.fromEntries((box.fields || []).map((/** @type {any} */ each) => [each.name, event.target.elements[each.name].value])));
  };
  return html`<dialog ref=${frame} onCancel=${(/** @type {Event} */ e) => { e.preventDefault(); end(null); }} aria-labelledby="box-title"><form onSubmit=${submit}>
    <h2 id="box-title">${box.title}</h2>${box.body ? html`<div>${box.body}</div>` : null}
    ${(box.fields || []).map((/** @type {any} */ each) => html`<label>${each.label}<br/>${each.options
      ? html`<select name=${each.name}>${each.options.map((/** @type {string} */ one) => html`<option value=${one} selected=${one === each.value}>${one}</option>`)}</select>`
      : each.area ? html`<textarea name=${each.name} required=${each.needed}>${each.value || ""}</textarea>`
      : html`<input name=${each.name} value=${each.value || ""} required=${each.needed} style=${{ width: "100%" }} />`}</label>`)}
    ${box.typed ? html`<label>Type <b>${box.typed}</b> to go on<br/><input name="typed" value=${typed} autocomplete="off" onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} /></label>` : null}
    <div class="ends"><button type="button" onClick=${() => end(null)}>Keep things as they are</button>
    <button type="submit" class=${box.danger ? "danger" : "first"} disabled=${Boolean(box.typed) && typed.trim() !== box.typed}>${box.ok}</button></div></form></dialog>`;
}
/** Do something and say how it went. @param {() => Promise<any>} work @param {string | ((said: any) => string)} words @param {() => void} [undo] */
export async function act(work, words, undo) {
  try {
    const said = await work();
    for (const hear of live.hearers) hear([]); // not every change is an event: who did something sees it at once
    toast(typeof words === "function" ? words(said) : words, { undo });
    return said;
  } catch (error) {
    const problem = /** @type {any} */ (error);
    toast(`${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`, { bad: true });
    return null;
  }
}
/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`copied: ${text}`);
}
/** The command that does the same, to copy. @param {{text: string}} props */
export const Command = ({ text }) => html`<button class="plain mono" title="copy this command" onClick=${() => copy(text)}>${text}</button>`;

/** @param {number} number */
export const many = (number) => number.toLocaleString("en-US");
/** @param {number} number @param {string} word */
export const counted = (number, word) => `${many(number)} ${word}${number === 1 ? "" : "s"}`;
/** @param {number} cost */
export const money = (cost) => (cost ? `$${cost < 1 ? cost.toFixed(3) : cost.toFixed(2)}` : "$0");
/** @param {number} tokens */
export const tokensWords = (tokens) => (tokens >= 1e6 ? `${(tokens / 1e6).toFixed(1)}M tok` : tokens >= 1000 ? `${Math.floor(tokens / 1000)}k tok` : `${tokens} tok`);
