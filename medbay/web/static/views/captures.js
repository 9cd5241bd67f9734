// Captures: what was noted down and what became of it; and the runs of the intake that looked at it.
import * as actions from "../actions.js";
import { get } from "../api.js";
import { InboxHead, Standing } from "../intake.js";
import { Command, go, html, Loaded, many, Pill, TaskId, Time, useKey, useResource, useRows, useSettled, useState } from "../parts.js";

/** @param {{parts: (string | undefined)[]}} props */
export function Captures({ parts }) {
  return parts[0] ? html`<${One} id=${parts[0]} />` : html`<${All} />`;
}
function All() {
  const found = useResource("/api/captures?status=POISON&status=PENDING&limit=100"), over = useResource("/api/captures?status=PROCESSED&status=DISCARDED&limit=100");
  return html`<${InboxHead} at="/captures" /><div class="row section"><button onClick=${actions.capture}>Capture…</button><${Command} text="medbay capture 'a thought'" /></div>
    <${Loaded} of=${found}>${(/** @type {any} */ data) => html`<${Rows} data=${data} />`}<//>
    <section class="section"><h2>Looked at</h2><${Loaded} of=${over}>${(/** @type {any} */ data) => (data.captures.length ? html`<${Table} list=${data.captures} />${data.next ? html`<p class="dim">${many(data.total)} in all; <code>medbay captures --all</code> has the rest</p>` : null}` : html`<p class="empty">None yet.</p>`)}<//></section>`;
}
/** What waits; what cannot be read comes first. @param {{data: any}} props */
function Rows({ data }) {
  const [more, setMore] = useState(/** @type {any[]} */ ([])), [next, setNext] = useState(/** @type {string | null | undefined} */ (undefined));
  const rest = next === undefined ? data.next : next, seen = new Set(data.captures.map((/** @type {any} */ each) => each.id));
  const rows = [...data.captures, ...more.filter((each) => !seen.has(each.id))].sort((one, two) => Number(two.status === "POISON") - Number(one.status === "POISON"));
  const settled = useSettled(rows, (each) => each.id, `captures${more.length}`);
  const at = useRows(settled.list.length, (n) => go(`/captures/${settled.list[n].id}`));
  const current = settled.list[at];
  useKey("r", () => { if (current) actions.retryCapture(current.row); }, "look at it again");
  const load = async () => { const page = await get("/api/captures", { status: ["POISON", "PENDING"], limit: 100, cursor: rest }); setMore([...more, ...page.captures]); setNext(page.next); };
  return html`<${Pill} number=${settled.fresh} show=${settled.apply} />${settled.list.length ? html`<${Table} list=${settled.list.map((each) => each.row)} gone=${settled.list.map((each) => each.gone)} at=${at} />${rest ? html`<p class="section"><button onClick=${load}>100 more</button> <span class="dim">${many(rows.length)} of ${many(data.total)}</span></p>` : null}` : html`<p class="empty">Nothing waits to be looked at.</p>`}`;
}
/** @param {{list: any[], gone?: boolean[], at?: number}} props */
function Table({ list, gone = [], at = -1 }) {
  return html`<div class="scroll section"><table class="stack"><thead><tr><th>ID</th><th>STATUS</th><th>WHAT</th><th>NOTED</th><th></th></tr></thead><tbody>${list.map((each, n) => html`<tr key=${each.id} class="${gone[n] ? "gone" : ""} ${at === n ? "at" : ""}" data-at=${at === n ? 1 : 0}><td><a class="id" href=${`/captures/${each.id}`}>${each.id}</a></td><td><${Standing} status=${each.status} /></td><td class="full">${each.text}${each.reason ? html` <span class="dim">${each.reason}</span>` : null}</td><td class="full dim"><${Time} at=${each.created_at} /> by ${each.created_by.replace("person:", "")}</td><td class="full"><${Acts} each=${each} /></td></tr>`)}</tbody></table></div>`;
}
/** @param {{each: any}} props */
function Acts({ each }) {
  if (each.status !== "PENDING" && each.status !== "POISON") return null;
  return html`<span class="row"><button onClick=${() => actions.retryCapture(each)} aria-label=${`look at ${each.id} now`}>look now</button>${each.status === "PENDING" ? html`<button onClick=${() => actions.editCapture(each)} aria-label=${`edit ${each.id}`}>edit…</button>` : null}<button class="danger" onClick=${() => actions.discardCapture(each)} aria-label=${`discard ${each.id}`}>discard…</button></span>`;
}
/** @param {{id: string}} props */
function One({ id }) {
  const found = useResource(`/api/captures/${encodeURIComponent(id)}`);
  return html`<p><a href="/captures">◂ Captures</a></p><${Loaded} of=${found}>${(/** @type {any} */ each) => html`<h1><span class="id dim">${each.id}</span> <${Standing} status=${each.status} /></h1><div class="row section"><${Acts} each=${each} /><${Command} text=${`medbay captures show ${each.id}`} /></div>
    <pre class="pre">${each.text}</pre><dl class="facts"><dt>Noted</dt><dd><${Time} at=${each.created_at} exact /> by ${each.created_by.replace("person:", "")}</dd>${each.reason ? html`<dt>Why</dt><dd>${each.reason}</dd>` : null}${each.tries ? html`<dt>Tries</dt><dd>${each.tries}</dd>` : null}
    ${each.workorders.length ? html`<dt>Workorders</dt><dd>${each.workorders.map((/** @type {string} */ one) => html`<a class="id" href=${`/workorders/${one}`}>${one}</a> `)}</dd>` : null}
    ${each.candidates.length ? html`<dt>Candidates</dt><dd>${each.candidates.map((/** @type {any} */ one) => html`<div><a href=${`/candidates/${one.id}`}>${one.title}</a> <${Standing} status=${one.status} />${one.task ? html` <${TaskId} id=${one.task} />` : null}</div>`)}</dd>` : null}</dl>`}<//>`;
}
/** One run of the intake: what it was shown, what it answered. @param {{parts: (string | undefined)[]}} props */
export function Workorder({ parts }) {
  const found = useResource(`/api/workorders/${encodeURIComponent(parts[0] || "")}`);
  return html`<p><a href="/captures">◂ Captures</a></p><${Loaded} of=${found}>${(/** @type {any} */ each) => html`<h1><span class="id dim">${each.id}</span> <${Standing} status=${each.status} /></h1><dl class="facts"><dt>Agent</dt><dd>${each.agent}, task <${TaskId} id=${each.task} /></dd>${each.reason ? html`<dt>Why</dt><dd>${each.reason}</dd>` : null}${each.run_record ? html`<dt>Gate</dt><dd>${each.run_record.gate_result} ${each.run_record.gate_reason || ""}</dd>` : null}${each.pause_state ? html`<dt>Paused</dt><dd>${each.pause_state.reason} <a href=${`/inbox/${encodeURIComponent(each.pause_state.question)}`}>its question ▸</a></dd>` : null}
    <dt>Captures</dt><dd>${each.captures.map((/** @type {string} */ one) => html`<a class="id" href=${`/captures/${one}`}>${one}</a> `)}</dd><dt>Candidates</dt><dd>${each.candidates.length ? each.candidates.map((/** @type {any} */ one) => html`<div><a href=${`/candidates/${one.id}`}>${one.title}</a> <${Standing} status=${one.status} /></div>`) : "none"}</dd>${each.snapshot ? html`<dt>Was shown</dt><dd><pre class="pre">${each.snapshot.full_prompt_text}</pre></dd>` : null}</dl>`}<//>`;
}
