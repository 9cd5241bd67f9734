// The words that choose tasks: one box of tokens, the address, and the server's names for the same.

export const NAMES = ["status", "tag", "-tag", "queue", "category", "fp", "agent", "held", "stands", "since"];
const STATUSES = ["pending", "in_progress", "pending_verification", "failed", "blocked", "completed", "cancelled"];
const STANDS = ["you", "run", "wait", "held", "ready", "done"];
const CATEGORIES = ["transient", "transient/network", "transient/rate_limit", "test_failure", "code_error", "timeout", "resource_exhaustion", "dependency_missing", "unknown"];
const MANY = new Set(["status", "tag", "not_tag", "stands"]);

/** From the box to parameters. @param {string} text @returns {Record<string, any>} */
export function read(text) {
  /** @type {Record<string, any>} */
  const found = {};
  const words = [];
  for (const part of text.match(/-?[a-z]+:"[^"]*"|-?[a-z]+:\S+|"[^"]*"|\S+/g) || []) {
    const [, minus, name, value] = /^(-?)([a-z]+):"?([^"]*)"?$/.exec(part) || [];
    const key = minus ? (name === "tag" ? "not_tag" : "") : NAMES.includes(name || "") ? name : "";
    if (!key || !value) { words.push(part.replace(/^"|"$/g, "")); continue; }
    if (key === "status" && value === "any") continue;
    if (MANY.has(key)) (found[key] ||= []).push(...value.split(",").filter(Boolean));
    else found[key] = value;
  }
  if (words.length) found.text = words.join(" ");
  return found;
}
/** @param {Record<string, any>} params */
export function write(params) {
  const quoted = (/** @type {string} */ value) => (/\s/.test(value) ? `"${value}"` : value);
  const parts = [];
  for (const [name, value] of Object.entries(params)) {
    if (name === "text") continue;
    const shown = name === "not_tag" ? "-tag" : name;
    for (const each of Array.isArray(value) ? value : [value]) if (each) parts.push(`${shown}:${quoted(String(each))}`);
  }
  if (params.text) parts.push(quoted(params.text));
  return parts.join(" ");
}
/** From the address. @param {URL} url */
export function ofAddress(url) {
  /** @type {Record<string, any>} */
  const found = {};
  for (const name of ["status", "tag", "not_tag", "queue", "category", "fp", "agent", "held", "stands", "since", "text"]) {
    const values = url.searchParams.getAll(name);
    if (values.length) found[name] = MANY.has(name) ? values : values[0];
  }
  return found;
}
/** The choice of a bulk action. @param {Record<string, any>} params */
export const choice = (params) => Object.fromEntries(Object.entries(params).filter(([, value]) => value && value.length));

/** What the last word may become. @param {string} text */
export function complete(text) {
  const last = text.split(/\s/).pop() || "", before = text.slice(0, text.length - last.length);
  const [name, value] = last.split(":");
  /** @type {Record<string, string[]>} */
  const known = { status: STATUSES, stands: STANDS, category: CATEGORIES, since: ["1h", "24h", "7d", "30d"] };
  const words = value === undefined ? NAMES.map((each) => `${each}:`).filter((each) => each.startsWith(last)) : (known[name] || []).filter((each) => each.startsWith(value)).map((each) => `${name}:${each}`);
  return words.map((each) => before + each);
}
/** The command that lists the same. @param {Record<string, any>} params */
export function command(params) {
  const flags = Object.entries(params).filter(([name]) => ["status", "tag", "not_tag", "queue", "category"].includes(name)).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((each) => `--${name.replace("_", "-")} ${each}`));
  return ["medbay list", ...flags, params.text ? `--text "${params.text}"` : ""].join(" ").trim();
}
