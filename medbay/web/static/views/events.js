// Events: everything that happened, newest first, from any number on.
import { get } from "../api.js";
import { Command, go, html, Loaded, Pill, TaskId, Time, useResource, useSettled, useState } from "../parts.js";

/** @param {{url: URL}} props */
export function Events({ url }) {
  const from = url.searchParams.get("from"), task = url.searchParams.get("task");
  const path = `/api/events?limit=100${from ? `&from=${encodeURIComponent(from)}` : ""}${task ? `&task=${encodeURIComponent(task)}` : ""}`;
  const found = useResource(path, { live: !from });
  return html`<div class="row"><h1>Events</h1><span class="grow"></span><${Command} text=${`medbay events -f${task ? ` --task ${task}` : ""}`} /></div><${Loaded} of=${found}>${(/** @type {any} */ data) => html`<${List} data=${data} from=${from} task=${task} key=${path} />`}<//>`;
}
/** @param {{data: any, from: string | null, task: string | null}} props */
function List({ data, from, task }) {
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const newest = [...data.events].reverse();
  const seen = new Set(newest.map((each) => each.seq));
  const settled = useSettled([...newest, ...older.filter((each) => !seen.has(each.seq))], (each) => String(each.seq), `events${from}${task}${older.length}`);
  const list = settled.list;
  const first = list.length ? list[list.length - 1].row.seq : 0;
  const load = async () => { const page = await get("/api/events", { before: first, limit: 100, task }); setOlder([...older, ...[...page.events].reverse()]); };
  return html`<${Pill} number=${settled.fresh} show=${settled.apply} />${list.length ? html`<div class="scroll section"><table class="stack"><thead><tr><th class="num">SEQ</th><th>WHEN</th><th>EVENT</th><th>TASK</th><th>WHAT</th></tr></thead><tbody>${list.map((each) => html`<tr key=${each.id}><td class="num dim"><a href=${`/events?from=${each.row.seq - 1}`}>${each.row.seq}</a></td><td><${Time} at=${each.row.at} form="clock" /></td><td class=${each.row.said.token}>${each.row.said.glyph} ${each.row.name}</td><td class="full">${each.row.task ? html`<${TaskId} id=${each.row.task} /> ${each.row.title || ""}` : ""}</td><td class="why full">${each.row.said.words}</td></tr>`)}</tbody></table></div>${first > 1 ? html`<p style=${{ padding: "1rem 0" }}><button onClick=${load}>100 older</button></p>` : null}` : html`<p class="empty">Nothing happened yet.</p>`}`;
}
