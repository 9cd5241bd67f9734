// Incidents and breakers: what is held and why, until when, and a person's hand on it.
import * as actions from "../actions.js";
import { Ask } from "../ask.js";
import { Command, counted, Fingerprint, html, Loaded, many, TaskId, Time, useResource } from "../parts.js";

export function Incidents() {
  const breakers = useResource("/api/breakers?closed=true");
  return html`<div class="row"><h1>Incidents and breakers</h1><span class="grow"></span><button onClick=${actions.openBreaker}>Hold an account…</button></div>
    <${Loaded} of=${breakers}>${(/** @type {any} */ data) => html`<${Table} list=${data.breakers.filter((/** @type {any} */ each) => each.state !== "closed")} name="Open" empty="Nothing is held: no limit, no outage, no crash loop." /><${Table} list=${data.breakers.filter((/** @type {any} */ each) => each.state === "closed").slice(0, 100)} name="Over" empty="None so far." />`}<//>`;
}
/** @param {any} each */
const link = (each) => (each.kind === "incident" ? `/incidents/${encodeURIComponent(each.fingerprint)}` : `/breakers/${encodeURIComponent(each.key)}`);
/** @param {{list: any[], name: string, empty: string}} props */
function Table({ list, name, empty }) {
  return html`<section class="section"><h2>${name}</h2>${list.length ? html`<div class="scroll"><table class="stack"><thead><tr><th></th><th>KEY</th><th>STATE</th><th>HOLDS</th><th>WHY</th><th>OPENED</th><th>ENDS</th><th></th></tr></thead><tbody>${list.map((each) => html`<tr key=${each.key}><td class=${each.token}>${each.glyph}</td><td><a href=${link(each)}>${each.key}</a></td><td class=${each.token}>${each.state.replace("_", "-")}</td><td class="full">${each.held ? html`<a href=${`/tasks?held=${encodeURIComponent(each.key)}`}>${counted(each.held, "task")}</a>` : ""}</td><td class="why full">${each.why}</td><td class="full">${"opened "}<${Time} at=${each.opened_at} /> by ${each.opened_by.replace("person:", "")}</td><td class="full">${each.state === "closed" ? html`ended <${Time} at=${each.closed_at} />` : html`${each.next_probe_at ? html`<${Time} at=${each.next_probe_at} form="until" />, ` : ""}${each.ends || ""}`}</td><td class="full">${each.state === "closed" ? null : html`<button onClick=${() => actions.closeBreaker(each)}>close…</button>`}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">${empty}</p>`}</section>`;
}
/** @param {{parts: (string | undefined)[]}} props */
export function Incident({ parts }) {
  const found = useResource(`/api/incidents/${encodeURIComponent(parts[0] || "")}`);
  return html`<p><a href="/incidents">◂ Incidents</a></p><${Loaded} of=${found}>${(/** @type {any} */ each) => html`<${Facts} each=${each} />
    ${each.asked && each.asked.status === "open" ? html`<${Ask} question=${{ ...each.asked, name: each.asked.id, about: [] }} whole />` : null}
    ${each.judged ? html`<section class="section"><h2>Triage</h2><p>${each.judged.action || "under way"} ${each.judged.detail || ""}</p></section>` : null}
    <section class="section"><h2>Tasks</h2><p class="dim">met it first: ${each.first_tasks.map((/** @type {string} */ id) => html`<${TaskId} id=${id} /> `)}</p><p>holds ${many(each.held)}: ${each.held_tasks.map((/** @type {string} */ id) => html`<${TaskId} id=${id} /> `)}${each.held > each.held_tasks.length ? html`<a href=${`/tasks?held=${encodeURIComponent(each.key)}`}>all ▸</a>` : null}</p></section>`}<//>`;
}
/** @param {{parts: (string | undefined)[]}} props */
export function Breaker({ parts }) {
  const found = useResource(`/api/breakers/${(parts[0] || "").split("/").map(encodeURIComponent).join("/")}`);
  return html`<p><a href="/incidents">◂ Incidents and breakers</a></p><${Loaded} of=${found}>${(/** @type {any} */ each) => html`<${Facts} each=${each} />`}<//>`;
}
/** @param {{each: any}} props */
function Facts({ each }) {
  const open = each.state !== "closed";
  return html`<h1><span class=${each.token || "held"}>‖</span> ${each.key}</h1><div class="row" style=${{ margin: ".5rem 0" }}>${open ? html`<button onClick=${() => actions.closeBreaker(each)}>Close it…</button>` : null}${each.held ? html`<a class="button" href=${`/tasks?held=${encodeURIComponent(each.key)}`}>${counted(each.held, "task")} ▸</a>` : null}<${Command} text=${`medbay breaker close ${each.key}`} /></div>
    <dl class="facts"><dt>State</dt><dd>${each.state.replace("_", "-")}, opened <${Time} at=${each.opened_at} exact /> by ${each.opened_by.replace("person:", "")}</dd><dt>Why</dt><dd>${each.why}</dd><dt>${open ? "Ends" : "Ended"}</dt><dd>${open ? html`${each.next_probe_at ? html`<${Time} at=${each.next_probe_at} form="until" />: ` : ""}${each.ends || ""}` : html`<${Time} at=${each.closed_at} exact />`}</dd>${each.canary ? html`<dt>Canary</dt><dd><${TaskId} id=${each.canary.task} /></dd>` : null}${each.failed_probes ? html`<dt>Failed probes</dt><dd>${each.failed_probes}</dd>` : null}${each.fingerprint ? html`<dt>Fingerprint</dt><dd><${Fingerprint} fp=${each.fingerprint} /> ${each.category || ""}</dd>` : null}${each.excerpt ? html`<dt>Evidence</dt><dd><pre class="pre">${each.excerpt}</pre></dd>` : null}</dl>`;
}
