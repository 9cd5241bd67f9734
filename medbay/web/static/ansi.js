// The colours of a terminal as classes: text in, pieces out. Nothing is ever read as markup.

/** @typedef {{text: string, names: string, style: Record<string, string> | null}} Piece */
const SEQUENCE = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|\x1b/g;
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** One line; progress that wrote over itself is shown in its last state. @param {string} line @returns {Piece[]} */
export function pieces(line) {
  const last = line.replace(/\r+$/, "").split("\r").pop() || "";
  /** @type {Piece[]} */
  const found = [];
  let names = new Set(), style = /** @type {Record<string, string>} */ ({}), from = 0;
  const put = (/** @type {string} */ text) => {
    if (text) found.push({ text: text.replace(UNSEEN, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, "0")}`), names: [...names].join(" "), style: Object.keys(style).length ? { ...style } : null });
  };
  for (const match of last.matchAll(SEQUENCE)) {
    put(last.slice(from, match.index));
    from = (match.index || 0) + match[0].length;
    if (match[1] !== undefined) [names, style] = colour(match[1], names, style);
  }
  put(last.slice(from));
  return found;
}
/** @param {string} codes @param {Set<string>} names @param {Record<string, string>} style @returns {[Set<string>, Record<string, string>]} */
function colour(codes, names, style) {
  const list = codes.split(/[;:]/).map(Number);
  names = new Set(names);
  style = { ...style };
  const clear = (/** @type {string} */ letter) => { for (const each of names) if (each[0] === letter) names.delete(each); };
  for (let at = 0; at < list.length; at += 1) {
    const code = list[at];
    if (!code) { names.clear(); style = {}; }
    else if ([1, 2, 3, 4, 7].includes(code)) names.add(`a${code}`);
    else if (code === 22) { names.delete("a1"); names.delete("a2"); }
    else if ([23, 24, 27].includes(code)) names.delete(`a${code - 20}`);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) { clear("c"); delete style.color; names.add(`c${code > 89 ? code - 60 : code}`); }
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) { clear("b"); delete style.backgroundColor; names.add(`b${code > 99 ? code - 60 : code}`); }
    else if (code === 39) { clear("c"); delete style.color; }
    else if (code === 49) { clear("b"); delete style.backgroundColor; }
    else if (code === 38 || code === 48) {
      const rgb = list[at + 1] === 5 ? indexed(list[at + 2]) : list[at + 1] === 2 ? list.slice(at + 2, at + 5) : null;
      at += list[at + 1] === 5 ? 2 : 4;
      if (rgb && rgb.every((each) => each >= 0 && each < 256)) { clear(code === 38 ? "c" : "b"); style[code === 38 ? "color" : "backgroundColor"] = `rgb(${rgb.join(" ")})`; }
    }
  }
  return [names, style];
}
/** @param {number} n */
function indexed(n) {
  if (!(n >= 0 && n < 256)) return null;
  if (n < 16) return [[0, 0, 0], [205, 49, 49], [13, 140, 80], [150, 110, 0], [36, 114, 200], [160, 50, 140], [17, 130, 150], [140, 140, 140]][n % 8];
  if (n > 231) return Array(3).fill(8 + (n - 232) * 10);
  const cube = (/** @type {number} */ each) => (each ? 55 + each * 40 : 0);
  return [cube(Math.floor((n - 16) / 36)), cube(Math.floor((n - 16) / 6) % 6), cube((n - 16) % 6)];
}
