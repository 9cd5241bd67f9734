// Places of what comes with stories and intake.
import { html } from "../parts.js";

/** @param {{parts: (string | undefined)[]}} props */
export function Later({ parts }) {
  const name = parts[0] || "board";
  const comes = name === "board" ? "stories" : "intake";
  return html`<h1>${name[0].toUpperCase() + name.slice(1)}</h1><p class="empty">Nothing is here: this store has no ${comes}. <a href="/tasks">Tasks</a> has all work.</p>`;
}
