// Fingerprints: failures that are the same failure, what a person taught about them, and which advice worked.
import * as actions from "../actions.js";
import { post } from "../api.js";
import { act, askPerson, Command, counted, Fingerprint as Link, go, html, Loaded, many, TaskId, Time, useResource } from "../parts.js";

/** @param {{url: URL}} props */
export function Fingerprints({ url }) {
  const order = url.searchParams.get("order") === "count" ? "count" : "seen";
  const found = useResource(`/api/fingerprints?order=${order}&limit=100`);
  return html`<div class="row"><h1>Fingerprints</h1><span class="grow"></span>${[["seen", "seen last"], ["count", "most often"]].map(([name, words]) => html`<a class="button" aria-current=${order === name ? "true" : undefined} href=${`/fingerprints?order=${name}`}>${words}</a>`)}</div>
    <${Loaded} of=${found}>${(/** @type {any} */ data) => (data.fingerprints.length ? html`<div class="scroll section"><table class="stack"><thead><tr><th></th><th>FINGERPRINT</th><th>WHAT</th><th class="num">TIMES</th><th class="num">TASKS</th><th>LAST SEEN</th><th>ADVICE THAT CURED</th></tr></thead><tbody>${data.fingerprints.map((/** @type {any} */ each) => html`<tr key=${each.fingerprint}><td class="fail">✗</td><td><${Link} fp=${each.fingerprint} /></td><td class="full">${each.taught ? html`<span class="you" title="a person said so">☺ </span>` : null}${each.summary}</td><td class="num">${many(each.count)}</td><td class="num hide">${many(each.tasks)}</td><td class="hide"><${Time} at=${each.last_seen} /></td><td class="why full">${best(each)}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">No failure was seen yet.</p>`)}<//>`;
}
/** @param {any} each */
function best(each) {
  const found = each.advice.find((/** @type {any} */ one) => one.cured);
  return found ? `“${found.advice}” ${found.cured} of ${found.given}` : "";
}
/** @param {{parts: (string | undefined)[]}} props */
export function Fingerprint({ parts }) {
  const found = useResource(`/api/fingerprints/${encodeURIComponent(parts[0] || "")}`);
  const forget = async (/** @type {any} */ each) => {
    const said = await askPerson({ title: `Forget ${each.fingerprint}?`, body: "Its count, what was taught and the record of its advice are gone for good.", ok: "Forget it", danger: true });
    if (said && (await act(() => post(`/api/fingerprints/${encodeURIComponent(each.fingerprint)}/forget`), "forgotten"))) go("/fingerprints");
  };
  return html`<p><a href="/fingerprints">◂ Fingerprints</a></p><${Loaded} of=${found}>${(/** @type {any} */ each) => html`<h1 class="mono">${each.fingerprint}</h1>
    <div class="row" style=${{ margin: ".5rem 0" }}>${each.met_by[0] ? html`<button onClick=${() => actions.reclassify({ id: each.met_by[0].id, category: `${each.category}${each.subcategory ? `/${each.subcategory}` : ""}` })}>Reclassify…</button>` : null}<button class="danger" onClick=${() => forget(each)}>Forget…</button><a class="button" href=${`/tasks?fp=${encodeURIComponent(each.fingerprint)}`}>its tasks ▸</a><${Command} text=${`medbay patterns show ${each.fingerprint}`} /></div>
    <dl class="facts"><dt>What</dt><dd>${each.summary}</dd><dt>Category</dt><dd>${each.category}${each.subcategory ? `/${each.subcategory}` : ""}${each.taught ? html` <span class="dim">(${each.taught.by.replace("person:", "")} said so <${Time} at=${each.taught.at} />; the rules say ${each.diagnosed})</span>` : null}</dd><dt>Seen</dt><dd>${counted(each.count, "time")} on ${counted(each.tasks, "task")}, first <${Time} at=${each.first_seen} />, last <${Time} at=${each.last_seen} /></dd>
    <dt>Sample</dt><dd><pre class="pre">${each.excerpt || "(facts beyond the text)"}</pre><span class="dim">Numbers, ids, paths and times are masked before failures are compared: failures that differ in nothing else are one.</span></dd></dl>
    <section class="section"><h2>Advice</h2>${each.advice.length ? html`<table><thead><tr><th>advice</th><th class="num">given</th><th class="num">cured</th><th class="num">rate</th></tr></thead><tbody>${each.advice.map((/** @type {any} */ one) => html`<tr><td>${one.advice}</td><td class="num">${one.given}</td><td class="num">${one.cured}</td><td class="num ${one.given < 5 ? "dim" : ""}">${Math.round(one.rate * 100)} %</td></tr>`)}</tbody></table>` : html`<p class="empty">None has been tried yet.</p>`}</section>
    <section class="section"><h2>Tasks that met it</h2><ul>${each.met_by.map((/** @type {any} */ one) => html`<li class="item"><span></span><${TaskId} id=${one.id} /><span class="name">${one.title}</span></li>`)}</ul></section>`}<//>`;
}
