// Candidates: what was made of captures; edited, promoted or discarded by a person, one by one or many at once.
import * as actions from "../actions.js";
import { get, post } from "../api.js";
import { InboxHead, Standing } from "../intake.js";
import { act, askPerson, Command, counted, go, html, Loaded, many, Pill, TaskId, Time, useKey, useResource, useRows, useSettled, useState } from "../parts.js";

/** @param {{parts: (string | undefined)[]}} props */
export function Candidates({ parts }) {
  return parts[0] ? html`<${One} id=${parts[0]} />` : html`<${All} />`;
}
function All() {
  const found = useResource("/api/candidates?status=PROPOSED&limit=100"), over = useResource("/api/candidates?status=PROMOTED&status=DISCARDED&limit=100");
  return html`<${InboxHead} at="/candidates" /><${Loaded} of=${found}>${(/** @type {any} */ data) => html`<${Rows} data=${data} />`}<//>
    <section class="section"><h2>Decided</h2><${Loaded} of=${over}>${(/** @type {any} */ data) => (data.candidates.length ? html`<div class="scroll"><table class="stack"><tbody>${data.candidates.map((/** @type {any} */ each) => html`<tr key=${each.id}><td><a class="id" href=${`/candidates/${each.id}`}>${each.id}</a></td><td><${Standing} status=${each.status} /></td><td class="full">${each.title}</td><td><${Became} each=${each} /></td><td class="full dim"><${Time} at=${each.since} /></td></tr>`)}</tbody></table></div>` : html`<p class="empty">None yet.</p>`)}<//></section>`;
}
/** @param {{data: any}} props */
function Rows({ data }) {
  const [more, setMore] = useState(/** @type {any[]} */ ([])), [next, setNext] = useState(/** @type {string | null | undefined} */ (undefined)), [picked, setPicked] = useState(/** @type {Set<string>} */ (new Set()));
  const rest = next === undefined ? data.next : next, seen = new Set(data.candidates.map((/** @type {any} */ each) => each.id));
  const settled = useSettled([...data.candidates, ...more.filter((each) => !seen.has(each.id))], (each) => each.id, `candidates${more.length}`);
  const list = settled.list, at = useRows(list.length, (n) => go(`/candidates/${list[n].id}`));
  const pick = (/** @type {string} */ id) => { const made = new Set(picked); if (!made.delete(id)) made.add(id); setPicked(made); };
  useKey("x", () => { if (list[at]) pick(list[at].id); }, "select the row");
  const load = async () => { const page = await get("/api/candidates", { status: "PROPOSED", limit: 100, cursor: rest }); setMore([...more, ...page.candidates]); setNext(page.next); };
  const doMany = async (/** @type {string} */ action, /** @type {string} */ words) => {
    const said = await askPerson({ title: `${words} ${counted(picked.size, "candidate")}?`, body: action === "promote" ? "Each becomes a task of a person." : "Their captures stay as they are, for the record.", ok: `${words} ${many(picked.size)}`, danger: action === "discard", typed: action === "discard" && picked.size > 20 ? String(picked.size) : undefined });
    if (said && (await act(() => Promise.all([...picked].map((id) => post(`/api/candidates/${encodeURIComponent(id)}/${action}`))), (made) => `${words}: ${many(made.length)} done`))) setPicked(new Set());
  };
  return html`<${Pill} number=${settled.fresh} show=${settled.apply} />${list.length ? list.map((each, n) => html`<${Card} key=${each.id} each=${each.row} gone=${each.gone} at=${at === n} picked=${picked.has(each.id)} pick=${() => pick(each.id)} />`) : html`<p class="empty">No candidate waits for you.</p>`}
    ${rest ? html`<p class="section"><button onClick=${load}>100 more</button> <span class="dim">${many(list.length)} of ${many(data.total)}</span></p>` : null}
    ${picked.size ? html`<div class="bulk" role="group" aria-label="selected"><b>${many(picked.size)} selected</b><button onClick=${() => doMany("promote", "Promote")}>Promote them…</button><button class="danger" onClick=${() => doMany("discard", "Discard")}>Discard them…</button><button class="plain" onClick=${() => setPicked(new Set())}>none</button></div>` : null}`;
}
/** @param {{each: any, gone?: boolean, at?: boolean, picked?: boolean, pick?: () => void}} props */
function Card({ each, gone = false, at = false, picked = false, pick }) {
  return html`<article class="ask ${gone ? "gone" : ""} ${at ? "at" : ""}" data-at=${at ? 1 : 0} aria-label=${`candidate: ${each.title}`}><div class="top">${pick ? html`<input type="checkbox" aria-label=${`select ${each.id}`} checked=${picked} onClick=${pick} />` : null}<a class="id" href=${`/candidates/${each.id}`}>${each.id}</a> <b>${each.title}</b> <${Standing} status=${each.status} /><span class="dim">from ${counted(each.captures.length, "capture")} · how sure <b>${each.confidence.toFixed(2)}</b></span></div>
    ${each.description ? html`<p>${each.description}</p>` : null}<ul>${each.acceptance_criteria.map((/** @type {string} */ one) => html`<li class="dim">☐ ${one}</li>`)}</ul><${Acts} each=${each} /></article>`;
}
/** A story has the id of its candidate, a task one of its own. @param {{each: any}} props */
function Became({ each }) {
  if (!each.task) return null;
  return each.task === each.id ? html`<a class="id" href=${`/board/${each.task}`}>story ${each.task}</a>` : html`<${TaskId} id=${each.task} />`;
}
/** @param {{each: any}} props */
function Acts({ each }) {
  if (each.status !== "PROPOSED") return each.task ? html`<p>became <${Became} each=${each} /></p>` : null;
  return html`<div class="options"><button class="first" onClick=${() => actions.promote(each)} aria-label=${`promote ${each.id}`}>Promote…</button><button onClick=${() => actions.promoteToStory(each)} aria-label=${`make a story of ${each.id}`}>Make a story…</button><button onClick=${() => actions.editCandidate(each)} aria-label=${`edit ${each.id}`}>Edit…</button><button class="danger" onClick=${() => actions.discardCandidate(each)} aria-label=${`discard ${each.id}`}>Discard…</button></div>`;
}
/** @param {{id: string}} props */
function One({ id }) {
  const found = useResource(`/api/candidates/${encodeURIComponent(id)}`);
  return html`<p><a href="/candidates">◂ Candidates</a></p><h1 class="sr">Candidate</h1><${Loaded} of=${found}>${(/** @type {any} */ each) => html`<${Card} each=${each} /><dl class="facts"><dt>Captures</dt><dd>${each.captures.map((/** @type {string} */ one) => html`<a class="id" href=${`/captures/${one}`}>${one}</a> `)}</dd><dt>Workorder</dt><dd><a class="id" href=${`/workorders/${each.workorder}`}>${each.workorder}</a></dd>${each.reason ? html`<dt>Why</dt><dd>${each.reason}</dd>` : null}</dl><${Command} text=${`medbay candidates show ${each.id}`} />`}<//>`;
}
