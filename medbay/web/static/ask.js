// A question with its answers on the spot: what is needed, why, the evidence, what each option does.
import * as actions from "./actions.js";
import { Command, counted, html, Status, TaskId, Time, useState } from "./parts.js";

/** With `send` it is answered by the link of a message: nothing else is open to whoever reads it. @param {{question: any, gone?: boolean, at?: boolean, answering?: boolean, whole?: boolean, send?: import("./actions.js").Send}} props */
export function Ask({ question, gone = false, at = false, answering = false, whole = false, send }) {
  const [note, setNote] = useState("");
  const [words, setWords] = useState("");
  const spoken = actions.wantsWords(question);
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(whole);
  const first = question.about[0];
  const more = question.tasks.length - 1;
  const over = gone || question.status !== "open";
  const choose = async (/** @type {number} */ number) => { setBusy(true); await actions.answer(question, number, note, send); setBusy(false); };
  const tell = async (/** @type {Event} */ event) => { event.preventDefault(); setBusy(true); await actions.tell(question, words, send); setBusy(false); };
  return html`<article class="ask ${at ? "at" : ""} ${gone ? "gone" : ""}" data-at=${at ? 1 : 0} aria-label=${`question: ${question.need}`}>
    <div class="top"><span class="you" aria-hidden="true">!</span>${first ? html`${send ? html`<span class="id">${first.id}</span>` : html`<${TaskId} id=${first.id} />`} <b>${first.title}</b> <${Status} phrase=${first.phrase} />` : html`<b>${question.owner ? `${question.owner.kind} ${question.owner.id}` : question.id}</b>`}
      ${more > 0 ? html`<span class="dim">and ${counted(more, "other task")}</span>` : null}<span class="dim">waits <${Time} at=${question.asked_at} form="for" /></span>${first && first.category ? html`<span class="dim">${first.category}</span>` : null}</div>
    <p class="need">${question.need}</p><p class="dim">${question.why}</p>
    ${open && question.evidence ? html`<pre>${question.evidence}</pre>` : null}
    ${over ? html`<p class="said done">${question.answer ? html`✓ ${question.answer}, by ${(question.answered_by || "").replace("person:", "")} <${Time} at=${question.answered_at} />` : "✓ not open any more"}</p>`
      : html`${spoken ? html`<form class="said" onSubmit=${tell}><label>Your answer<textarea required value=${words} onInput=${(/** @type {any} */ e) => setWords(e.target.value)}></textarea></label><button class="first" disabled=${busy}>Answer</button></form>` : null}<div class="options">${(spoken ? question.options.slice(1) : question.options).map((/** @type {any} */ option, /** @type {number} */ n) => html`<button class="opt ${option.number === question.default && !spoken ? "first" : ""}" disabled=${busy} title=${option.consequence} onClick=${() => choose(option.number)}><b style=${option.number === question.default ? { color: "inherit" } : {}}>${option.number}</b>${option.label}${option.effect === "cancel" ? "…" : ""}${option.number === question.chosen_last_time ? html` <span class="dim">(last time)</span>` : null}</button>`)}
        ${open && question.options.length ? html`<span class="dim" style=${{ flexBasis: "100%" }}>${question.options.map((/** @type {any} */ o) => html`<span style=${{ display: "block" }}>${o.number} ${o.label}: ${o.consequence}</span>`)}</span>` : null}</div>
        ${answering ? html`<p class="dim">type the number of an option</p>` : null}
        ${open ? html`<label class="said" style=${{ display: "block" }}>A note for the record<textarea value=${note} onInput=${(/** @type {any} */ e) => setNote(e.target.value)}></textarea></label>` : null}`}
    <div class="row said dim"><button class="plain" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "less ▴" : "evidence and why ▾"}</button>${send ? null : html`${first && first.attempts ? html`<a href=${`/tasks/${first.id}/attempts/${first.attempts}/log`}>log ▸</a>` : null}<a href=${`/inbox/${encodeURIComponent(question.id)}`}>link</a><${Command} text=${`medbay answer ${question.name}`} />`}
      ${question.sent > 1 ? html`<span>sent ${question.sent} times</span>` : null}${question.sent_again_at && !over ? html`<span>again <${Time} at=${question.sent_again_at} form="at" /></span>` : null}</div></article>`;
}
