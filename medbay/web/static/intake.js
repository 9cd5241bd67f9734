// What the views of intake share: the head of the inbox, and how a record stands.
import { html, many, useResource } from "./parts.js";

/** How captures, candidates and workorders look. @type {Record<string, [string, string]>} */
const LOOKS = { PENDING: ["◷", "wait"], PROCESSED: ["✓", "done"], POISON: ["!", "you"], DISCARDED: ["–", "idle"], PROPOSED: ["!", "you"], PROMOTED: ["✓", "done"], READY: ["○", "idle"], RUNNING: ["▶", "run"], PAUSED: ["!", "you"], COMPLETED: ["✓", "done"], FAILED: ["✗", "fail"] };

/** @param {{status: string}} props */
export function Standing({ status }) {
  const [glyph, token] = LOOKS[status] || ["·", "idle"];
  return html`<span class="${token} status"><span aria-hidden="true">${glyph}</span> ${status.toLowerCase()}</span>`;
}
/** The parts of the inbox, each with what waits there. @param {{at: string, questions?: number | null}} props */
export function InboxHead({ at, questions = null }) {
  const captures = useResource("/api/captures?limit=1"), candidates = useResource("/api/candidates?limit=1"), asked = useResource(questions === null ? "/api/questions" : null);
  const c = captures.data ? captures.data.counts : {}, d = candidates.data ? candidates.data.counts : {};
  const open = questions ?? (asked.data ? asked.data.questions.length : 0);
  const parts = [["/inbox", "Questions", open, ""], ["/candidates", "Candidates", d.PROPOSED || 0, ""], ["/captures", "Captures", (c.PENDING || 0) + (c.POISON || 0), c.POISON ? ` (${many(c.POISON)} poison)` : ""]];
  return html`<div class="row"><h1>Inbox</h1><nav class="tabs" aria-label="parts of the inbox">${parts.map(([path, words, number, more]) => html`<a class="button" aria-current=${path === at ? "true" : undefined} href=${path}>${words} ${many(Number(number))}${more}</a>`)}</nav></div>`;
}
