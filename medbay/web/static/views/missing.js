// A path that leads nowhere.
import { html } from "../parts.js";

export function Missing() {
  return html`<h1>There is no such page</h1><p class="empty">${location.pathname} leads nowhere. <a href="/">Now</a> has what needs you, <a href="/tasks">Tasks</a> has everything.</p>`;
}
