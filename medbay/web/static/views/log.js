// The log of an attempt: a hundred megabytes by the lines one sees; search on the server; following only at the end.
import { get } from "../api.js";
import { pieces } from "../ansi.js";
import { Command, copy, go, html, many, Problem, useEffect, useKey, useLayoutEffect, useRef, useResource, useState } from "../parts.js";

const HIGH = 18, BLOCK = 200, ABOVE = 12, MOST = 8000000; // pixels that a browser scrolls through reliably

/** @param {{parts: (string | undefined)[], url: URL}} props */
export function Log({ parts, url }) {
  const id = parts[0] || "", number = Number(parts[1]);
  const task = useResource(`/api/tasks/${encodeURIComponent(id)}`);
  const of = task.data && task.data.task.attempts.find((/** @type {any} */ each) => each.number === number);
  const last = task.data ? task.data.task.attempts_total : number;
  const to = (/** @type {number} */ n) => { if (n >= 1 && n <= last) go(`/tasks/${id}/attempts/${n}/log`); };
  useKey("[", () => to(number - 1), "attempt before");
  useKey("]", () => to(number + 1), "next attempt");
  return html`<div class="row"><h1><a href=${`/tasks/${id}`} class="id">${id}</a> ${task.data ? task.data.task.title : ""}</h1></div>
    <div class="row" style=${{ margin: ".2rem 0" }}><button disabled=${number <= 1} onClick=${() => to(number - 1)} aria-label="attempt before">◂</button><b>attempt ${number}</b><span class="dim">of ${last}</span><button disabled=${number >= last} onClick=${() => to(number + 1)} aria-label="next attempt">▸</button>
      ${of ? html`<span class=${of.outcome === "succeeded" ? "done" : of.outcome ? "fail" : "run"}>${of.outcome ? `${of.outcome}${of.exit_code ? ` exit ${of.exit_code}` : ""}` : "▶ running"}</span>${of.diagnosis ? html`<span class="dim">${of.diagnosis.category}${of.diagnosis.subcategory ? `/${of.diagnosis.subcategory}` : ""} ${of.diagnosis.confidence.toFixed(2)}: ${of.diagnosis.summary}</span>` : null}` : null}</div>
    <${Viewer} key=${`${id}/${number}`} id=${id} number=${number} url=${url} />`;
}
/** @param {{id: string, number: number, url: URL}} props */
function Viewer({ id, number, url }) {
  const path = `/api/tasks/${encodeURIComponent(id)}/attempts/${number}/log`;
  const [facts, setFacts] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [cause, setCause] = useState(/** @type {number | null} */ (null));
  const [chosen, setChosen] = useState(() => /** @type {[number, number] | null} */ (lines(url.hash)));
  const [wrap, setWrap] = useState(false);
  const [follow, setFollow] = useState(false);
  const [seen, setSeen] = useState(0); // lines when following ended
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [text, setText] = useState("");
  const [how, setHow] = useState({ regex: false, ignore_case: false, only: false });
  const [, again] = useState(0);
  const blocks = useRef(/** @type {Map<number, any[] | Promise<any>>} */ (new Map()));
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const total = facts ? facts.lines : 0;
  const shownLines = how.only && found ? found.lines : null;
  const count = shownLines ? shownLines.length : total;
  const scaled = Math.max(1, (count * HIGH) / MOST); // of a very long log one pixel is several lines
  const high = Math.min(count * HIGH, MOST);

  const fetchBlock = async (/** @type {number} */ block, force = false) => {
    if (blocks.current.has(block) && !force) return;
    const asking = get(path, { first: block * BLOCK + 1, count: BLOCK }).then((answer) => { blocks.current.set(block, answer.rows); setFacts((/** @type {any} */ was) => ({ ...answer, rows: undefined, lines: Math.max(answer.lines, was ? was.lines : 0) })); again((n) => n + 1); }, (problem) => { blocks.current.delete(block); setError(problem); });
    if (!force) blocks.current.set(block, asking);
    await asking;
  };
  const place = (/** @type {number} */ line) => { // scroll so that a line stands a dozen below the top
    const box_ = box.current;
    if (!box_) return;
    const at = shownLines ? Math.max(0, shownLines.indexOf(line)) : line - 1;
    box_.scrollTop = ((at - ABOVE) * HIGH) / scaled;
    setTop(box_.scrollTop);
  };
  const choose = (/** @type {number} */ line, /** @type {boolean} */ range) => {
    const next = /** @type {[number, number]} */ (range && chosen ? [Math.min(chosen[0], line), Math.max(chosen[0], line)] : [line, line]);
    setChosen(next);
    history.replaceState(history.state, "", `${location.pathname}#L${next[0]}${next[1] > next[0] ? `-L${next[1]}` : ""}`);
  };
  useEffect(() => {
    let gone = false;
    (async () => {
      try {
        const first = await get(path, { count: 1 });
        if (gone) return;
        setFacts({ ...first, rows: undefined });
        if (chosen) { requestAnimationFrame(() => place(chosen[0])); return; }
        if (first.running) { setFollow(true); return; }
        const line = (await get(`${path}/cause`)).line;
        if (gone) return;
        setCause(line);
        requestAnimationFrame(() => place(line || first.lines));
      } catch (problem) { setError(problem); }
    })();
    return () => { gone = true; };
  }, [path]);
  useEffect(() => { if (chosen && !cause) get(`${path}/cause`).then((said) => setCause(said.line), () => {}); }, [path]);
  useEffect(() => { // a running log grows
    if (!facts || !facts.running) return;
    const timer = setInterval(async () => {
      if (document.hidden) return;
      try {
        const now = await get(path, { count: 1 });
        if (now.lines !== total || !now.running || now.size !== facts.size) { await fetchBlock(Math.floor(Math.max(0, total - 1) / BLOCK), true); setFacts({ ...now, rows: undefined }); }
      } catch { /* the chip says that it is away */ }
    }, 700);
    return () => clearInterval(timer);
  }, [facts && facts.running, total, facts && facts.size]);
  useLayoutEffect(() => { if (follow && box.current) { box.current.scrollTop = box.current.scrollHeight; setTop(box.current.scrollTop); } }, [follow, total, facts && facts.size]);
  const scrolled = () => {
    const box_ = box.current;
    if (!box_) return;
    const end = box_.scrollTop + box_.clientHeight >= box_.scrollHeight - 4;
    if (follow && !end && box_.scrollTop < top - 2) { setFollow(false); setSeen(total); }
    setTop(box_.scrollTop);
  };
  const search = async (/** @type {Event | null} */ event) => {
    if (event) event.preventDefault();
    if (!text) { setFound(null); return; }
    try {
      const said = await get(`${path}/search`, { text, regex: how.regex, ignore_case: how.ignore_case });
      const from = chosen ? chosen[0] : 0, at = Math.max(0, said.lines.findIndex((/** @type {number} */ line) => line >= from));
      setFound({ ...said, at });
      if (said.lines.length) place(said.lines[at]);
    } catch (problem) { setError(problem); }
  };
  const step = (/** @type {number} */ by) => { if (!found || !found.lines.length) return; const at = (found.at + by + found.lines.length) % found.lines.length; setFound({ ...found, at }); place(found.lines[at]); };
  const toError = async (/** @type {boolean} */ back) => {
    const from = chosen ? chosen[0] : Math.floor((top * scaled) / HIGH) + ABOVE;
    const said = await get(`${path}/error`, { line: from, back }).catch(() => ({ line: null }));
    if (said.line) { choose(said.line, false); setFollow(false); place(said.line); }
  };
  useKey("n", () => step(1), "next match");
  useKey("N", () => step(-1), "match before");
  useKey("e", () => toError(false), "next error line");
  useKey("E", () => toError(true), "error line before");
  useKey("G", () => { setFollow(true); }, "to the end, and follow");
  useKey("c", () => copy(`medbay log ${id} --attempt ${number}`), "copy the command");
  const room = box.current ? box.current.clientHeight : 600;
  const first = Math.max(0, Math.floor((top * scaled) / HIGH) - 10), until = Math.min(count, first + Math.ceil(room / HIGH) + 24);
  const hits = new Set(found ? found.lines : []);
  const rows = [];
  for (let n = first; n < until; n += 1) {
    const line = shownLines ? shownLines[n] : n + 1, block = blocks.current.get(Math.floor((line - 1) / BLOCK));
    if (!block) fetchBlock(Math.floor((line - 1) / BLOCK));
    rows.push({ line, n, data: Array.isArray(block) ? block.find((/** @type {any} */ each) => each.n === line) : null });
  }
  const shift = scaled > 1 ? top - first * HIGH - (((top * scaled) / HIGH - first) % 1) * HIGH : 0;
  if (error && !facts) return html`<${Problem} error=${error} />`;
  return html`<form class="logbar" onSubmit=${search}><input type="search" data-filter aria-label="search the whole log" placeholder="search the whole log" value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)} /><button>Search</button>
      ${[["regex", ".*"], ["ignore_case", "aA"], ["only", "only matches"]].map(([name, words]) => html`<button type="button" aria-pressed=${/** @type {any} */ (how)[name]} title=${name.replace("_", " ")} onClick=${() => setHow({ ...how, [name]: !(/** @type {any} */ (how)[name]) })}>${words}</button>`)}
      ${found ? html`<span role="status">${many(found.total)} ${found.total === 1 ? "line" : "lines"}${found.lines.length ? `, ${found.at + 1} of ${many(found.lines.length)}` : ""}</span><button type="button" onClick=${() => step(-1)} aria-label="match before">▴</button><button type="button" onClick=${() => step(1)} aria-label="next match">▾</button>` : null}
      ${cause ? html`<button type="button" onClick=${() => { setFollow(false); place(cause); }}>cause, line ${many(cause)}</button>` : null}<button type="button" onClick=${() => toError(false)}>next error</button>
      <button type="button" aria-pressed=${wrap} onClick=${() => setWrap(!wrap)}>wrap</button>${facts && facts.running ? html`<button type="button" aria-pressed=${follow} onClick=${() => { setFollow(!follow); setSeen(total); }}>follow</button>` : null}
      <a class="button" href=${`${path}/raw`} download>download</a></form>
    ${error ? html`<${Problem} error=${error} retry=${() => setError(null)} />` : null}
    ${facts && !facts.here ? html`<p class="dim">The file is on ${facts.host} or gone; these are the ends that the store keeps.</p>` : null}
    <div class="logbox"><div class="log ${wrap ? "wrap" : ""}" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label=${`log of ${id}, attempt ${number}`}>
      <div class="space" style=${{ height: `${Math.max(high, 20)}px` }}>${wrap ? html`<div style=${{ position: "absolute", top: `${(first * HIGH) / scaled}px`, left: 0, right: 0 }}>${rows.map((row) => html`<${Line} key=${row.line} row=${row} wrap hit=${hits.has(row.line)} cause=${row.line === cause} chosen=${chosen} choose=${choose} />`)}</div>`
        : rows.map((row) => html`<${Line} key=${row.line} row=${row} top=${scaled > 1 ? row.n * HIGH + shift : row.n * HIGH} hit=${hits.has(row.line)} cause=${row.line === cause} chosen=${chosen} choose=${choose} />`)}
        ${facts && !total ? html`<p class="empty">${facts.running ? "No output yet." : "It printed nothing."}</p>` : null}</div></div>
      ${facts && facts.running && !follow && total > seen ? html`<button class="logpill first" onClick=${() => setFollow(true)}>${many(total - seen)} new lines ↓</button>` : null}</div>
    <div class="row dim" style=${{ marginTop: ".4rem" }}>${facts ? html`<span>${many(total)} lines, ${many(Math.round(facts.size / 1024))} KB</span><${Command} text=${facts.path} />` : null}<${Command} text=${`medbay log ${id} --attempt ${number}`} /></div>`;
}
/** @param {{row: any, top?: number, wrap?: boolean, hit: boolean, cause: boolean, chosen: [number, number] | null, choose: (line: number, range: boolean) => void}} props */
function Line({ row, top, wrap, hit, cause, chosen, choose }) {
  const { line, data } = row;
  const marked = chosen && line >= chosen[0] && line <= chosen[1];
  const names = `ln ${hit ? "hit" : ""} ${cause ? "cause" : ""} ${marked ? "sel" : ""} ${data && data.dropped ? "cutrow" : ""}`;
  return html`<div class=${names} style=${wrap ? { position: "static", height: "auto" } : { top: `${top}px` }}><a class="no" href=${`#L${line}`} onClick=${(/** @type {any} */ e) => { e.preventDefault(); e.stopPropagation(); choose(line, e.shiftKey); }}>${line}</a>
    <span class="tx">${!data ? "" : data.dropped ? `${many(data.dropped)} bytes dropped here` : pieces(data.text).map((each) => (each.names || each.style ? html`<span class=${each.names} style=${each.style || undefined}>${each.text}</span>` : each.text))}${data && data.cut ? html` <span class="dim">… cut, download has it all</span>` : null}</span></div>`;
}
/** `#L120-L140`. @param {string} hash @returns {[number, number] | null} */
function lines(hash) {
  const found = /^#L(\d+)(?:-L(\d+))?$/.exec(hash);
  return found ? [Number(found[1]), Number(found[2] || found[1])] : null;
}
