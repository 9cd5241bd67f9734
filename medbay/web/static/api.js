// Asking the server, and hearing from it. Every change is a POST with our header; every error says what to do.
import { clock } from "./time.js";

/** @typedef {{status: number, code: string, message: string, hint: string}} Problem */

/** An answer that is no success. */
export class Refused extends Error {
  /** @param {number} status @param {{code?: string, message?: string, hint?: string}} said @param {string} path */
  constructor(status, said, path) {
    super(said.message || `the server answered ${status}`);
    this.status = status;
    this.code = said.code || "";
    this.hint = said.hint || "";
    this.path = path;
  }
}

/** @param {string} method @param {string} path @param {any} [body] */
async function ask(method, path, body) {
  /** @type {RequestInit} */
  const options = { method, headers: { Accept: "application/json" }, credentials: "same-origin" };
  if (method !== "GET") {
    options.headers = { ...options.headers, "Content-Type": "application/json", "X-Medbay": "1" };
    options.body = JSON.stringify(body ?? {});
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused(0, { message: "the daemon cannot be reached", hint: "medbay up, or medbay serve" }, path);
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) session.lost();
  if (!answer.ok) throw new Refused(answer.status, said.error || {}, path);
  if (said && said.now) clock.hear(said.now);
  return said;
}

/** @param {string} path @param {Record<string, any>} [params] */
export const get = (path, params) => ask("GET", path + query(params));
/** @param {string} path @param {any} [body] */
export const post = (path, body) => ask("POST", path, body);
/** @param {string} path @param {any} [body] */
export const patch = (path, body) => ask("PATCH", path, body);

/** @param {Record<string, any>} [params] */
export function query(params) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") made.append(name, String(each));
    }
  }
  const text = made.toString();
  return text ? `?${text}` : "";
}

/** Who is there. */
export const session = {
  /** @type {any} */ who: null,
  /** @type {() => void} */ lost: () => {},

  /** Exchange the token of the address for a cookie, and take it out of the address. */
  async begin() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token) {
      history.replaceState(null, "", location.pathname + location.search);
      await post("/api/session", { token });
    }
    this.who = await get("/api/session");
    return this.who;
  },
};

/** @typedef {{state: "live"|"again"|"away", since: number, next: number, seq: number}} LinkState */

/** The stream of events. It comes back by itself, from the last number it saw. */
export const live = {
  /** @type {LinkState} */ state: { state: "again", since: Date.now(), next: 0, seq: -1 },
  /** @type {Set<(events: any[]) => void>} */ hearers: new Set(),
  /** @type {Set<() => void>} */ watchers: new Set(),
  tries: 0,
  /** @type {WebSocket | null} */ socket: null,
  /** @type {any} */ timer: 0,

  start() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const from = this.state.seq >= 0 ? `?from=${this.state.seq}` : "";
    const socket = (this.socket = new WebSocket(`${scheme}://${location.host}/api/live${from}`));
    socket.onmessage = (message) => this.take(JSON.parse(message.data));
    socket.onclose = () => this.lost();
  },

  /** @param {any} said */
  take(said) {
    clock.hear(said.now);
    const back = this.state.state !== "live" && this.tries > 0;
    this.tries = 0;
    if (said.type === "hello" && this.state.seq < 0) this.state.seq = said.seq;
    if (said.type === "events") {
      const fresh = said.events.filter((/** @type {any} */ each) => each.seq > this.state.seq);
      this.state.seq = Math.max(this.state.seq, said.seq);
      if (fresh.length) for (const hear of this.hearers) hear(fresh);
    }
    if (this.state.state !== "live") {
      this.state = { ...this.state, state: "live", since: Date.now(), next: 0 };
      this.changed();
      if (back) for (const hear of this.hearers) hear([]);
    }
  },

  lost() {
    this.tries += 1;
    const wait = Math.min(15000, 500 * 2 ** Math.min(this.tries - 1, 5));
    const since = this.state.state === "live" ? Date.now() : this.state.since;
    this.state = { ...this.state, state: this.tries > 2 ? "away" : "again", since, next: Date.now() + wait };
    this.changed();
    this.timer = setTimeout(() => this.start(), wait);
  },

  changed() {
    for (const each of this.watchers) each();
  },
};
