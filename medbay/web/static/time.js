// One clock and one zone for the whole page: the server's time, in the zone a person chose.

/** The server's clock, as far as it is ahead of ours. */
export const clock = {
  offset: 0,
  heard: false,
  /** @param {string | undefined} iso */
  hear(iso) {
    if (!iso) return;
    const ahead = Date.parse(iso) - Date.now();
    // the smallest delay tells best; a jump of the clock is believed at once
    if (!this.heard || Math.abs(ahead - this.offset) > 2000 || ahead > this.offset) this.offset = ahead;
    this.heard = true;
  },
  now() {
    return Date.now() + this.offset;
  },
};

/** @type {Set<() => void>} */
const watchers = new Set();
export const zone = {
  utc: localStorage.getItem("medbay.utc") === "1",
  get name() {
    return this.utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  },
  /** `Europe/Berlin UTC+1` */
  get words() {
    if (this.utc) return "UTC";
    const parts = new Intl.DateTimeFormat("en-GB", { timeZone: this.name, timeZoneName: "shortOffset" }).formatToParts(new Date(clock.now()));
    const offset = (parts.find((part) => part.type === "timeZoneName") || { value: "" }).value.replace("GMT", "UTC");
    return this.name === "UTC" ? "UTC" : `${this.name} ${offset}`;
  },
  toggle() {
    this.utc = !this.utc;
    localStorage.setItem("medbay.utc", this.utc ? "1" : "0");
    for (const each of watchers) each();
  },
  /** @param {() => void} changed */
  watch(changed) {
    watchers.add(changed);
    return () => watchers.delete(changed);
  },
};

/** @type {Map<string, Intl.DateTimeFormat>} */
const forms = new Map();
/** @param {string} key @param {Intl.DateTimeFormatOptions} options */
function form(key, options) {
  const name = zone.name + key;
  let made = forms.get(name);
  if (!made) forms.set(name, (made = new Intl.DateTimeFormat("en-GB", { timeZone: zone.name, hourCycle: "h23", ...options })));
  return made;
}
const DAY = 86400000;

/** The time of day, with its date when it is a day away. @param {number} at @param {boolean} [seconds] */
export function clockWords(at, seconds = true) {
  const time = form(seconds ? "s" : "m", { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) }).format(at);
  return Math.abs(at - clock.now()) >= DAY ? `${dateWords(at)} ${time}` : time;
}
/** @param {number} at */
export function dateWords(at) {
  const parts = Object.fromEntries(form("d", { year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(at).map((part) => [part.type, part.value]));
  return `${parts.year}-${parts.month}-${parts.day}`;
}
/** @param {number} at */
export const hourWords = (at) => form("m", { hour: "2-digit", minute: "2-digit" }).format(at);
/** @param {number} at */
export const dayWords = (at) => form("dm", { day: "numeric", month: "short" }).format(at);

/** `41s`, `4m`, `3h 16m`, `2d 4h`; never negative. @param {number} ms */
export function short(ms) {
  ms = Math.max(0, ms);
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (m < 1) return `${s}s`;
  if (h < 1) return `${m}m`;
  if (d < 1) return `${h}h${m % 60 ? ` ${m % 60}m` : ""}`;
  return `${d}d${h % 24 ? ` ${h % 24}h` : ""}`;
}
/** The same with seconds below an hour: what ticks. @param {number} ms */
export function ticking(ms) {
  ms = Math.max(0, ms);
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60);
  if (m < 1) return `${s}s`;
  if (m < 60) return `${m}m ${String(s % 60).padStart(2, "0")}s`;
  return short(ms);
}
/** @param {string | null | undefined} iso */
export const ms = (iso) => (iso ? Date.parse(iso) : NaN);
/** How far the chosen zone is ahead of UTC at a moment. @param {number} at */
const zoneShift = (at) => (zone.utc ? 0 : -new Date(at).getTimezoneOffset() * 60000);
/** Round moments of the chosen zone, also across a change of its clocks: a day begins at midnight, whatever its length. @param {number} from @param {number} to @param {number} step */
export function localSteps(from, to, step) {
  const found = [], shift = zoneShift(from);
  for (let local = Math.ceil((from + shift) / step) * step; ; local += step) {
    const at = local - (step > 3600000 ? zoneShift(local - shift) : shift);
    if (at > to) return found;
    if (at >= from) found.push(at);
  }
}
/** When the day of a moment began, in the chosen zone. @param {number} at */
export const dayStart = (at) => localSteps(at - 25 * 3600000, at, DAY).pop() ?? at;
