// Everything a person does to tasks and questions, with what cannot be undone asked before.
import { patch, post } from "./api.js";
import { act, askPerson, counted, html, many } from "./parts.js";

const CATEGORIES = ["transient/network", "transient/rate_limit", "transient/service", "test_failure", "code_error", "timeout", "resource_exhaustion", "dependency_missing", "unknown/auth", "unknown"];
/** @param {string} id */
const at = (id) => `/api/tasks/${encodeURIComponent(id)}`;

/** @param {any} task @param {boolean} [same] */
export async function retry(task, same = false) {
  if (same) {
    const said = await askPerson({
      title: `Retry ${task.id} as it is?`,
      body: html`<p>The next attempt would be the same as the one that failed: ${task.summary || "nothing was changed since"}. Tell it something new, or change the task first (medbay edit ${task.id}).</p>`,
      ok: "Retry",
      fields: [{ name: "text", label: "Guidance for the next attempt (may stay empty)", area: true }],
    });
    if (!said) return null;
    if (said.text.trim() && !(await act(() => post(`${at(task.id)}/guidance`, { text: said.text }), "guidance saved"))) return null;
  }
  return act(() => post(`${at(task.id)}/retry`), `${task.id} is tried again now`);
}
/** @param {any} task */
export const pause = (task) => act(() => post(`${at(task.id)}/pause`), `${task.id} is paused`, () => resume(task));
/** @param {any} task */
export const resume = (task) => act(() => post(`${at(task.id)}/resume`), `${task.id} goes on`);
/** @param {any} task */
export async function cancel(task) {
  const said = await askPerson({ title: `Cancel ${task.id} ${task.title}?`, body: "It ends for good; a running attempt is stopped. This cannot be undone.", ok: "Cancel the task", danger: true });
  return said && act(() => post(`${at(task.id)}/cancel`), `${task.id} is cancelled`);
}
/** @param {any} task */
export const unblock = (task) => act(() => post(`${at(task.id)}/unblock`), `${task.id} is released`);
/** @param {any} task */
export const triage = (task) => act(() => post(`${at(task.id)}/triage`), `a triage of ${task.id} was started; its verdict appears here`);
/** @param {any} task @param {number} [attempt] */
export async function reclassify(task, attempt) {
  const said = await askPerson({
    title: `What was the failure of ${task.id}${attempt ? ` #${attempt}` : ""}?`,
    body: "Later failures like it follow what you say, and this one is decided about again.",
    ok: "Reclassify",
    fields: [{ name: "category", label: "Category", options: CATEGORIES, value: task.category || "unknown" }],
  });
  return said && act(() => post(`${at(task.id)}/reclassify`, { category: said.category, attempt }), (made) => `${made.before} is now ${made.after}`);
}
/** @param {any} task */
export async function guide(task) {
  const next = (task.attempts_total ?? task.attempts) + 1;
  const now = (task.guidance || []).filter((/** @type {any} */ each) => each.attempt === next).pop();
  const said = await askPerson({ title: `Guidance for attempt ${next} of ${task.id}`, ok: "Save", fields: [{ name: "text", label: "What the next attempt is told", area: true, needed: true, value: now ? now.text : "" }] });
  return said && act(() => post(`${at(task.id)}/guidance`, { text: said.text }), "guidance saved");
}
/** How an answer is sent: by who is signed in, or by the link of a message. @typedef {(option: string, note: string) => Promise<any>} Send */
/** @param {any} question @returns {Send} */
const asPerson = (question) => (option, note) => post(`/api/questions/${encodeURIComponent(question.id)}/answer`, { option, note });
/** Whether only words are an answer: an agent asked. @param {any} question */
export const wantsWords = (question) => question.free_text && question.options.length > 0 && question.options[0].effect === "answer";
/** @param {any} question @param {string} words @param {Send} [send] */
export const tell = (question, words, send = asPerson(question)) => act(() => send(words, ""), () => "answered");
/** @param {any} question @param {number} number @param {string} [note] @param {Send} [send] */
export async function answer(question, number, note = "", send = asPerson(question)) {
  const option = question.options[number - 1];
  if (!option) return null;
  if (option.effect === "cancel") {
    const many = question.tasks.length;
    const said = await askPerson({ title: `${option.label}?`, body: `${option.consequence}. This ends ${many === 1 ? question.name : counted(many, "task")} for good.`, ok: option.label, danger: true, typed: many > 20 ? String(many) : undefined });
    if (!said) return null;
  }
  if (option.effect === "answer") {
    const said = note.trim() ? { text: note } : await askPerson({ title: question.need, body: question.evidence, ok: "Answer", fields: [{ name: "text", label: "What it is told", area: true, needed: true }] });
    return said && tell(question, said.text, send);
  }
  // What an agent asks takes any words, numbers too: there an option goes by its name.
  return act(() => send(wantsWords(question) ? option.effect : String(number), note), (made) => `answered: ${made.answer}`);
}
/** @param {any} breaker */
export async function closeBreaker(breaker) {
  const said = await askPerson({ title: `Close ${breaker.key}?`, body: `You say that it is over: ${counted(breaker.held, "task")} are released, spread out.`, ok: "Close it" });
  return said && act(() => post(`/api/breakers/close?key=${encodeURIComponent(breaker.key)}`), `${breaker.key} is closed`);
}
export async function openBreaker() {
  const said = await askPerson({ title: "Hold a provider's account", ok: "Hold it", fields: [
    { name: "key", label: "NAME or NAME/ACCOUNT", needed: true }, { name: "reason", label: "Why" }, { name: "lasts", label: "For how long (2h; empty: until it is closed)" }] });
  return said && act(() => post("/api/breakers/open", said), `${said.key} is held`);
}
/** A dry run, then the act itself, then how it went. @param {string} action @param {any} meant @param {string} words */
export async function bulk(action, meant, words) {
  const dry = await act(() => post("/api/tasks/bulk", { action, ...meant, dry_run: true }), `${words}: looked`);
  if (!dry) return null;
  const danger = action === "cancel";
  const said = await askPerson({
    title: `${words} ${many(dry.done)}${passedOver(dry)}`,
    body: danger ? "They end for good. This cannot be undone." : `${many(dry.matched)} match.`,
    ok: `${words} ${many(dry.done)}`, danger, typed: danger && dry.done > 20 ? String(dry.done) : undefined,
  });
  if (!said) return null;
  const undo = action === "pause" ? () => bulkNow("resume", meant, "Resume") : action === "resume" ? () => bulkNow("pause", meant, "Pause") : undefined;
  return bulkNow(action, meant, words, undo);
}
/** Tags for many: asked for, tried, then done. @param {any} meant */
export async function bulkTag(meant) {
  const said = await askPerson({ title: "Tag them", ok: "Look first", fields: [{ name: "add", label: "Tags to add (words with spaces or commas between)" }, { name: "remove", label: "Tags to take away" }] });
  const words = (/** @type {string} */ text) => text.split(/[\s,]+/).filter(Boolean);
  return said && bulkEdit("tag", "Tag", { ...meant, add: words(said.add), remove: words(said.remove) });
}
/** What the failures of many were. @param {any} meant */
export async function bulkReclassify(meant) {
  const said = await askPerson({ title: "What were their last failures?", body: "Each fingerprint is taught once; later failures like it follow, and open ones are decided about again.", ok: "Look first", fields: [{ name: "category", label: "Category", options: CATEGORIES, value: "unknown" }] });
  return said && bulkEdit("reclassify", "Reclassify", { ...meant, category: said.category });
}
/** @param {string} path @param {string} words @param {any} body */
async function bulkEdit(path, words, body) {
  const dry = await act(() => post(`/api/tasks/bulk/${path}`, { ...body, dry_run: true }), `${words}: looked`);
  if (!dry) return null;
  const said = await askPerson({ title: `${words} ${many(dry.done)}${passedOver(dry)}`, body: `${many(dry.matched)} match.`, ok: `${words} ${many(dry.done)}` });
  return said && act(() => post(`/api/tasks/bulk/${path}`, { ...body, dry_run: false }), (made) => `${words}: ${many(made.done)} of ${many(made.matched)} done`);
}
/** @param {any} dry */
const passedOver = (dry) => (dry.skipped.length ? ` (${dry.skipped.map((/** @type {any} */ each) => `${many(each.number)} ${each.number === 1 ? "is" : "are"} ${each.why}: skipped`).join(", ")})` : "");
/** @param {string} action @param {any} meant @param {string} words @param {() => void} [undo] */
const bulkNow = (action, meant, words, undo) => act(() => post("/api/tasks/bulk", { action, ...meant, dry_run: false }),
  (made) => `${words}: ${many(made.done)} of ${many(made.matched)} done${made.skipped.length ? `, ${made.skipped.map((/** @type {any} */ e) => `${e.number} ${e.why}`).join(", ")}` : ""}`, undo);

// Thoughts and what was made of them

/** A thought that is noted down. */
export async function capture() {
  const said = await askPerson({ title: "Note something down", body: "The intake makes candidates of it.", ok: "Capture", fields: [{ name: "text", label: "What is it", area: true, needed: true }] });
  return said && act(() => post("/api/captures", { text: said.text }), (made) => `captured as ${made.id}`);
}
/** @param {any} each */
const thought = (each) => `/api/captures/${encodeURIComponent(each.id)}`;
/** @param {any} each */
const proposal = (each) => `/api/candidates/${encodeURIComponent(each.id)}`;
/** @param {any} each */
export async function editCapture(each) {
  const said = await askPerson({ title: `Change ${each.id}`, ok: "Save", fields: [{ name: "text", label: "What it says", area: true, needed: true, value: each.text }] });
  return said && act(() => patch(thought(each), { text: said.text }), `${each.id} is changed`);
}
/** @param {any} each */
export const retryCapture = (each) => act(() => post(`${thought(each)}/retry`), `${each.id} is looked at next`);
/** @param {any} each */
export async function discardCapture(each) {
  const said = await askPerson({ title: `Discard ${each.id}?`, body: each.text.slice(0, 300), ok: "Discard", danger: true });
  return said && act(() => post(`${thought(each)}/discard`), `${each.id} is discarded`);
}
/** @param {any} each */
export async function promote(each) {
  const said = await askPerson({ title: `Promote ${each.title}?`, body: "It becomes a task. With neither a command nor an agent it is a person's.", ok: "Promote", fields: [{ name: "run", label: "Command (may stay empty)" }, { name: "agent", label: "Agent (may stay empty)" }] });
  const given = said && Object.fromEntries(Object.entries(said).filter(([, value]) => value.trim()));
  return given && act(() => post(`${proposal(each)}/promote`, given), (made) => `${each.id} is now the task ${made.task}`);
}
/** @param {any} each */
export async function promoteToStory(each) {
  const said = await askPerson({ title: `Make a story of ${each.title}?`, body: "Its criteria become those of the story, which its roles then walk through all phases.", ok: "Make a story" });
  return said && act(() => post(`${proposal(each)}/promote`, { story: true }), (made) => `${each.id} is now the story ${made.story}`);
}
/** @param {any} each */
export async function editCandidate(each) {
  const said = await askPerson({ title: `Change ${each.id}`, ok: "Save", fields: [{ name: "title", label: "Title", needed: true, value: each.title }, { name: "description", label: "Description", area: true, value: each.description }, { name: "criteria", label: "Acceptance criteria, one a line", area: true, needed: true, value: each.acceptance_criteria.join("\n") }] });
  return said && act(() => patch(proposal(each), { title: said.title, description: said.description, acceptance_criteria: said.criteria.split("\n").map((line) => line.trim()).filter(Boolean) }), `${each.id} is changed`);
}
/** @param {any} each */
export async function discardCandidate(each) {
  const said = await askPerson({ title: `Discard ${each.title}?`, body: "Its captures stay as they are, for the record.", ok: "Discard", danger: true });
  return said && act(() => post(`${proposal(each)}/discard`), `${each.id} is discarded`);
}
