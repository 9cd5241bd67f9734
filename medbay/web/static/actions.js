// Everything a person does to tasks and questions, with what cannot be undone asked before.
import { post } from "./api.js";
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
/** @param {any} question @param {number} number @param {string} [note] */
export async function answer(question, number, note = "") {
  const option = question.options[number - 1];
  if (!option) return null;
  if (option.effect === "cancel") {
    const many = question.tasks.length;
    const said = await askPerson({ title: `${option.label}?`, body: `${option.consequence}. This ends ${many === 1 ? question.name : counted(many, "task")} for good.`, ok: option.label, danger: true, typed: many > 20 ? String(many) : undefined });
    if (!said) return null;
  }
  let words = note;
  if (option.effect === "answer" && !words.trim()) {
    const said = await askPerson({ title: question.need, body: question.evidence, ok: "Answer", fields: [{ name: "text", label: "What it is told", area: true, needed: true }] });
    if (!said) return null;
    words = said.text;
  }
  // What an agent asks takes any words, numbers too: there an option goes by its name.
  const chosen = question.options[0].effect === "answer" ? option.effect : String(number);
  return act(() => post(`/api/questions/${encodeURIComponent(question.id)}/answer`, { option: chosen, note: words }), (made) => `answered: ${made.answer}`);
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
  const skipped = dry.skipped.map((/** @type {any} */ each) => `${many(each.number)} ${each.number === 1 ? "is" : "are"} ${each.why}: skipped`).join(", ");
  const danger = action === "cancel";
  const said = await askPerson({
    title: `${words} ${many(dry.done)}${skipped ? ` (${skipped})` : ""}`,
    body: danger ? "They end for good. This cannot be undone." : `${many(dry.matched)} match.`,
    ok: `${words} ${many(dry.done)}`, danger, typed: danger && dry.done > 20 ? String(dry.done) : undefined,
  });
  if (!said) return null;
  const undo = action === "pause" ? () => bulkNow("resume", meant, "Resume") : action === "resume" ? () => bulkNow("pause", meant, "Pause") : undefined;
  return bulkNow(action, meant, words, undo);
}
/** @param {string} action @param {any} meant @param {string} words @param {() => void} [undo] */
const bulkNow = (action, meant, words, undo) => act(() => post("/api/tasks/bulk", { action, ...meant, dry_run: false }),
  (made) => `${words}: ${many(made.done)} of ${many(made.matched)} done${made.skipped.length ? `, ${made.skipped.map((/** @type {any} */ e) => `${e.number} ${e.why}`).join(", ")}` : ""}`, undo);
