// Inbox: what waits for a person, oldest first; and what was answered.
import { Ask } from "../ask.js";
import { InboxHead } from "../intake.js";
import * as actions from "../actions.js";
import { go, html, Loaded, Pill, Time, useKey, useResource, useRows, useSettled, useState } from "../parts.js";

/** @param {{parts: (string | undefined)[]}} props */
export function Inbox({ parts }) {
  return parts[0] ? html`<${One} id=${parts[0]} />` : html`<${All} />`;
}
/** @param {{id: string}} props */
function One({ id }) {
  const found = useResource(`/api/questions/${encodeURIComponent(id)}`);
  const [ready, setReady] = useState(true);
  useKey("a", () => setReady(true), "answer");
  for (let number = 1; number <= 9; number += 1) useKey(String(number), () => { if (ready && found.data && found.data.status === "open") actions.answer(found.data, number); }, number === 1 ? "choose an option" : "");
  return html`<p><a href="/inbox">◂ Inbox</a></p><h1 class="sr">Question</h1><${Loaded} of=${found}>${(/** @type {any} */ data) => html`<${Ask} question=${data} whole at />`}<//>`;
}
function All() {
  const found = useResource("/api/questions?answered=20");
  return html`<${InboxHead} at="/inbox" questions=${found.data ? found.data.questions.length : null} /><${Loaded} of=${found}>${(/** @type {any} */ data) => html`<${Lists} data=${data} />`}<//>`;
}
/** @param {{data: any}} props */
function Lists({ data }) {
  const asked = useSettled(data.questions, (each) => each.id, "inbox");
  const at = useRows(asked.list.length, (n) => go(`/inbox/${encodeURIComponent(asked.list[n].id)}`));
  const [answering, setAnswering] = useState(false);
  const current = asked.list[Math.max(0, at)];
  useKey("a", () => setAnswering(true), "answer the question");
  for (let number = 1; number <= 9; number += 1) useKey(String(number), () => { if (answering && current && !current.gone) { setAnswering(false); actions.answer(current.row, number); } }, number === 1 ? "choose an option" : "");
  return html`<${Pill} number=${asked.fresh} show=${asked.apply} />
    ${asked.list.length ? asked.list.map((each, n) => html`<${Ask} key=${each.id} question=${each.row} gone=${each.gone} at=${at === n || (answering && current === each)} answering=${answering && current === each} />`) : html`<p class="empty">No questions.</p>`}
    <section class="section"><h2>Answered</h2>${data.answered.length ? html`<div class="scroll"><table><thead><tr><th>when</th><th>what</th><th>answer</th><th>by</th></tr></thead><tbody>${data.answered.map((/** @type {any} */ each) => html`<tr key=${each.id}><td><${Time} at=${each.answered_at} /></td><td><a href=${`/inbox/${encodeURIComponent(each.id)}`}>${each.need}</a></td><td>${each.answer}</td><td>${(each.answered_by || "").replace("person:", "")}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">Nothing was answered yet.</p>`}</section>`;
}
