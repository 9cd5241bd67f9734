// Tasks: everything, filtered by words that are also the address; many acted on at once after a dry run.
import * as actions from "../actions.js";
import { get, query } from "../api.js";
import * as filters from "../filter.js";
import { Command, copy, go, html, Loaded, many, Pill, Status, TaskId, Time, useEffect, useKey, useResource, useRows, useSettled, useState, useTint } from "../parts.js";

const CHIPS = [["you", "!", "you"], ["run", "▶", "run"], ["wait", "◷", "wait"], ["held", "‖", "held"], ["ready", "○", "idle"], ["done", "✓", "done"]];
const ACTS = [["retry", "Retry"], ["pause", "Pause"], ["resume", "Resume"], ["unblock", "Unblock"], ["cancel", "Cancel"]];

/** @param {{url: URL}} props */
export function Tasks({ url }) {
  const asked = filters.ofAddress(url);
  const bare = !url.search;
  useEffect(() => {
    if (bare) { const last = localStorage.getItem("medbay.tasks"); go(`/tasks${last && last !== "?" ? last : "?since=24h"}`, true); } else localStorage.setItem("medbay.tasks", url.search);
  }, [url.search]);
  if (bare) return null;
  const order = url.searchParams.get("order") || "need";
  return html`<${List} asked=${asked} order=${order} key=${url.search} />`;
}
/** The box of words. @param {{asked: Record<string, any>, path?: string, more?: Record<string, string>}} props */
export function FilterBox({ asked, path = "/tasks", more = {} }) {
  const [text, setText] = useState(filters.write(asked));
  useEffect(() => setText(filters.write(asked)), [filters.write(asked)]);
  const submit = (/** @type {Event} */ event) => { event.preventDefault(); go(path + (query({ ...filters.read(text), ...more }) || "?")); };
  return html`<form class="filter" role="search" onSubmit=${submit}><input type="search" data-filter aria-label="filter" list="tokens" autocomplete="off" spellcheck=${false} placeholder="status:failed category:transient tag:nightly -tag:metrics since:24h text" value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)} />
    <datalist id="tokens">${filters.complete(text).map((each) => html`<option value=${each}></option>`)}</datalist><button>Filter</button></form>`;
}
/** @param {{asked: Record<string, any>, order: string}} props */
function List({ asked, order }) {
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const [next, setNext] = useState(/** @type {string | null | undefined} */ (undefined));
  const found = useResource(`/api/tasks${query({ ...asked, order, limit: 50 })}`);
  const data = found.data;
  const load = async () => {
    const page = await get("/api/tasks", { ...asked, order, limit: 50, cursor: next === undefined ? data.next : next });
    setMore([...more, ...page.tasks]);
    setNext(page.next);
  };
  return html`<h1 class="sr">Tasks</h1><${FilterBox} asked=${asked} more=${order === "need" ? {} : { order }} />
    <${Loaded} of=${found} height="24rem">${(/** @type {any} */ page) => html`<${Rows} page=${page} more=${more} asked=${asked} order=${order} rest=${next === undefined ? page.next : next} load=${load} />`}<//>`;
}
/** @param {{page: any, more: any[], asked: Record<string, any>, order: string, rest: string | null, load: () => void}} props */
function Rows({ page, more, asked, order, rest, load }) {
  const seen = new Set(page.tasks.map((/** @type {any} */ each) => each.id));
  const settled = useSettled([...page.tasks, ...more.filter((each) => !seen.has(each.id))], (each) => each.id, `${filters.write(asked)}${order}${more.length}`);
  const list = settled.list;
  const [picked, setPicked] = useState(/** @type {Set<string>} */ (new Set()));
  const [all, setAll] = useState(false);
  const [last, setLast] = useState(-1);
  const at = useRows(list.length, (n) => go(`/tasks/${list[n].id}`));
  const current = list[at] && list[at].row;
  const pick = (/** @type {number} */ n, /** @type {boolean} */ range) => {
    const made = new Set(picked);
    if (range && last >= 0) for (let one = Math.min(last, n); one <= Math.max(last, n); one += 1) made.add(list[one].id);
    else if (!made.delete(list[n].id)) made.add(list[n].id);
    setPicked(made); setLast(n); setAll(false);
  };
  useKey("x", () => { if (at >= 0) pick(at, false); }, "select the row");
  useKey("X", () => { if (at >= 0) pick(at, true); }, "select up to this row");
  useKey("r", () => { if (current) actions.retry(current); }, "retry");
  useKey("p", () => { if (current) (current.paused ? actions.resume : actions.pause)(current); }, "pause or resume");
  useKey("c", () => copy(current ? `medbay show ${current.id}` : filters.command(asked)), "copy the command");
  const meant = all ? { choice: filters.choice(asked) } : { ids: [...picked] };
  const narrows = Object.keys(asked).some((name) => name !== "since");
  const doMany = async (/** @type {string} */ action, /** @type {string} */ words) => { if (await actions.bulk(action, meant, words)) { setPicked(new Set()); setAll(false); } };
  return html`<${Pill} number=${settled.fresh} show=${settled.apply} />
    <div class="chips">${CHIPS.filter(([name]) => page.counts[name]).map(([name, glyph, token]) => html`<a class="button ${token}" href=${`/tasks${query({ ...asked, stands: name })}`}>${glyph} ${many(page.counts[name])} ${name === "you" ? "need you" : name}</a>`)}
      <span class="dim grow">${many(page.total)} match</span>${[["need", "what needs you first"], ["newest", "newest first"], ["oldest", "oldest first"]].map(([name, words]) => html`<a class="button" aria-current=${order === name ? "true" : undefined} href=${`/tasks${query({ ...asked, order: name === "need" ? "" : name }) || "?"}`}>${words}</a>`)}<${Command} text=${filters.command(asked)} /></div>
    ${list.length ? html`<div class="scroll"><table class="stack"><thead><tr><th><input type="checkbox" aria-label="select this page" checked=${picked.size > 0 && picked.size === list.length} onChange=${() => { setPicked(picked.size === list.length ? new Set() : new Set(list.map((each) => each.id))); setAll(false); }} /></th><th>ID</th><th>STATUS</th><th>TITLE</th><th>WHY</th><th>NEXT</th><th>TRIES</th></tr></thead>
      <tbody>${list.map((each, n) => html`<${Row} key=${each.id} each=${each} at=${at === n} picked=${all || picked.has(each.id)} pick=${(/** @type {any} */ e) => pick(n, e.shiftKey)} />`)}</tbody></table></div>`
      : html`<p class="empty">Nothing matches${asked.since ? html` within ${asked.since}: <a href=${`/tasks${query({ ...asked, since: "" }) || "?"}`}>all there is</a>` : "."}</p>`}
    ${rest ? html`<p style=${{ padding: "1rem 0" }}><button onClick=${load}>50 more</button> <span class="dim">${many(list.length)} of ${many(page.total)}</span></p>` : null}
    ${picked.size || all ? html`<div class="bulk" role="group" aria-label="selected"><b>${all ? `all ${many(page.total)} that match` : `${picked.size} selected`}</b>${!all && page.total > picked.size ? html`<button class="plain" disabled=${!narrows} title=${narrows ? "" : "an empty filter means everything: name a status, tag, queue, category or text"} onClick=${() => setAll(true)}>select all ${many(page.total)} that match</button>` : null}
      ${ACTS.map(([action, words]) => html`<button class=${action === "cancel" ? "danger" : ""} onClick=${() => doMany(action, words)}>${words}…</button>`)}${[["Tag", actions.bulkTag], ["Reclassify", actions.bulkReclassify]].map(([words, edit]) => html`<button onClick=${async () => { if (await /** @type {any} */ (edit)(meant)) { setPicked(new Set()); setAll(false); } }}>${words}…</button>`)}<button class="plain" onClick=${() => { setPicked(new Set()); setAll(false); }}>none</button></div>` : null}`;
}
/** @param {{each: any, at: boolean, picked: boolean, pick: (e: any) => void}} props */
function Row({ each, at, picked, pick }) {
  const row = each.row;
  return html`<tr class="${each.gone ? "gone" : ""} ${at ? "at" : ""} ${picked ? "picked" : ""} ${useTint(row.phrase.stem + row.attempts)}" data-at=${at ? 1 : 0}><td><input type="checkbox" aria-label=${`select ${row.id}`} checked=${picked} onClick=${pick} /></td><td><${TaskId} id=${row.id} /></td><td class="full"><${Status} phrase=${row.phrase} /></td>
    <td class="full"><a href=${`/tasks/${row.id}`}>${row.title}</a> ${row.tags.map((/** @type {string} */ tag) => html`<a class="tag" href=${`/tasks?tag=${encodeURIComponent(tag)}`}>${tag}</a>`)}</td><td class="why full">${row.category && row.status !== "completed" ? html`<a class="dim" href=${`/tasks?category=${encodeURIComponent(row.category)}`}>${row.category}</a> ` : null}${row.why}</td>
    <td class="hide">${row.next_at ? html`<${Time} at=${row.next_at} form="in" />` : row.status === "completed" || row.status === "cancelled" ? html`<${Time} at=${row.since} />` : ""}</td><td class="num hide">${row.attempts || ""}</td></tr>`;
}
