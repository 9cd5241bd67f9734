// Board: stories by the directory of their status; one story with its phases. A card says why it is not moving.
import { post } from "../api.js";
import { act, askPerson, Command, go, html, Loaded, Time, tokensWords, useKey, useResource, useState } from "../parts.js";

/** @param {{parts: (string | undefined)[]}} props */
export function Board({ parts }) {
  return parts[0] ? html`<${One} id=${parts[0]} />` : html`<${All} />`;
}
/** @param {any[]} events */
const concerns = (events) => events.some((each) => /^(story|phase|question):/.test(each.name));

/** Whether a status leads anywhere. @param {any} story */
const movable = (story) => story.moves.some((/** @type {any} */ each) => each.allowed);

/** Where a story may go, and why not elsewhere; dropped on a column, only there. @param {any} story @param {string} [directory] */
async function move(story, directory) {
  const ways = story.moves.filter((/** @type {any} */ each) => each.allowed && (!directory || each.directory === directory));
  const others = story.moves.filter((/** @type {any} */ each) => !each.allowed && (!directory || each.directory === directory));
  const why = html`${ways.length ? html`<p>From ${story.status} it may go to:</p><ul>${ways.map((/** @type {any} */ each) => html`<li><b>${each.to}</b> <span class="dim">${each.why}</span></li>`)}</ul>` : html`<p>${story.status} does not lead ${directory ? `to ${directory}` : "anywhere"}.</p>`}
    <details><summary class="dim">why not elsewhere</summary><ul>${others.map((/** @type {any} */ each) => html`<li class="dim">${each.to}: ${each.why}</li>`)}</ul></details>`;
  const fields = ways.length ? [{ name: "to", label: "Move to", options: ways.map((/** @type {any} */ each) => each.to) }, { name: "why", label: "Why (it is kept)" }] : [];
  const said = await askPerson({ title: `Move ${story.id}?`, body: why, ok: ways.length ? "Move" : "Close", fields });
  return said && said.to && act(() => post(`/api/stories/${encodeURIComponent(story.id)}/move`, { to: said.to, why: said.why || "by a person" }), (made) => `${made.id} is ${made.status}`);
}
function All() {
  const found = useResource("/api/board", { live: concerns });
  return html`<div class="row"><h1>Board</h1><span class="dim keys">j k cards, h l columns, o opens, m moves</span></div><${Loaded} of=${found} height="24rem">${(/** @type {any} */ data) => html`<${Columns} columns=${data.columns} />`}<//>`;
}
/** @param {{columns: any[]}} props */
function Columns({ columns }) {
  const [at, setAt] = useState(/** @type {string | null} */ (null));
  const filled = columns.filter((each) => each.stories.length);
  const all = filled.flatMap((each) => each.stories);
  const card = all.find((each) => each.id === at);
  const [held, setHeld] = useState(/** @type {any} */ (null)); // the card that is dragged
  const over = (/** @type {string} */ directory) => held && held.moves.some((/** @type {any} */ each) => each.allowed && each.directory === directory);
  const drop = (/** @type {string} */ directory) => { if (held) move(held, directory); setHeld(null); };
  const show = (/** @type {any} */ next) => {
    if (!next) return;
    setAt(next.id);
    requestAnimationFrame(() => { const found = document.querySelector("[data-at='1']"); if (found) found.scrollIntoView({ block: "nearest", inline: "nearest" }); });
  };
  const step = (/** @type {number} */ by) => show(card ? all[Math.max(0, Math.min(all.length - 1, all.indexOf(card) + by))] : all[0]);
  const across = (/** @type {number} */ by) => {
    const column = filled.findIndex((each) => each.stories.includes(card));
    const next = filled[Math.max(0, Math.min(filled.length - 1, column + by))];
    show(next && next.stories[0]);
  };
  useKey("j", () => step(1), "next card");
  useKey("k", () => step(-1), "card before");
  useKey("l", () => across(1), "next column");
  useKey("h", () => across(-1), "column before");
  useKey("o", () => { if (card) go(`/board/${encodeURIComponent(card.id)}`); }, "open the story");
  useKey("m", () => { if (card) move(card); }, "move the story");
  if (!all.length) return html`<div class="empty">No stories yet. Make one:<code>medbay story new S-1 --title "What it is about"</code></div>`;
  return html`<div class="board">${columns.map((each) => html`<section key=${each.directory} class="lane ${each.stories.length ? "" : "none"} ${over(each.directory) ? "open" : ""}" aria-label=${each.directory} onDragOver=${(/** @type {DragEvent} */ event) => { if (held) event.preventDefault(); }} onDrop=${(/** @type {DragEvent} */ event) => { event.preventDefault(); drop(each.directory); }}><h2 class="title">${each.directory} <span>${each.stories.length}</span></h2>
    ${each.stories.map((/** @type {any} */ story) => html`<${Card} key=${story.id} story=${story} at=${story.id === at} hold=${setHeld} />`)}</section>`)}</div>`;
}
/** @param {{story: any, at: boolean, hold: (story: any) => void}} props */
function Card({ story, at, hold }) {
  return html`<article class="card ${at ? "at" : ""}" data-at=${at ? "1" : undefined} draggable="true" onDragStart=${(/** @type {DragEvent} */ event) => { if (event.dataTransfer) event.dataTransfer.setData("text/plain", story.id); hold(story); }} onDragEnd=${() => hold(null)}><div class="row"><a class="id" href=${`/board/${encodeURIComponent(story.id)}`}>${story.id}</a><span class="grow"></span>${movable(story) ? html`<button class="plain" aria-label=${`move ${story.id}`} title="move (m)" onClick=${() => move(story)}>⇄</button>` : null}</div>
    <p class="name">${story.title}</p><p class=${story.token}>${story.glyph} ${story.words}</p>
    ${story.notes.map((/** @type {string} */ each) => html`<p class="dim">${each}</p>`)}
    ${story.questions.length ? html`<p>${story.questions.map((/** @type {string} */ each) => html`<a href=${`/inbox/${encodeURIComponent(each)}`}>question ${each} ▸</a> `)}</p>` : null}</article>`;
}
/** @param {{id: string}} props */
function One({ id }) {
  const found = useResource(`/api/stories/${encodeURIComponent(id)}`, { live: concerns });
  return html`<p><a href="/board">◂ Board</a></p><${Loaded} of=${found} height="24rem">${(/** @type {any} */ data) => html`<${Whole} story=${data} />`}<//>`;
}
/** @param {{story: any}} props */
function Whole({ story }) {
  useKey("m", () => move(story), "move the story");
  return html`<h1>${story.id} ${story.title}</h1><div class="row" style=${{ margin: ".5rem 0" }}><b>${story.status}</b><span class="dim">since <${Time} at=${story.since} /></span>${movable(story) ? html`<button onClick=${() => move(story)}>Move…</button>` : null}<${Command} text=${`medbay story show ${story.id}`} /></div>
    ${story.reason ? html`<p class="dim">${story.reason}</p>` : null}${story.questions.map((/** @type {any} */ each) => html`<p class="you">! <a href=${`/inbox/${encodeURIComponent(each.id)}`}>${each.need}</a></p>`)}
    ${story.waits_for.length ? html`<p class="wait">↳ waits for ${story.waits_for.map((/** @type {string} */ each) => html`<a href=${`/board/${encodeURIComponent(each)}`}>${each}</a> `)}</p>` : null}
    ${story.description ? html`<pre class="pre">${story.description}</pre>` : null}
    <section class="section"><h2>Acceptance criteria</h2>${story.criteria.length ? html`<ol>${story.criteria.map((/** @type {string} */ text, /** @type {number} */ n) => html`<li>${n + 1}. ${text} ${story.evidence.filter((/** @type {any} */ each) => each.criterion === n + 1).map((/** @type {any} */ each) => html`<span class="done">✓ ${each.shows} <span class="mono dim">${each.path}</span></span> `)}</li>`)}</ol>` : html`<p class="empty">None yet.</p>`}</section>
    <section class="section"><h2>Phases</h2>${story.phases.length ? html`<div class="scroll"><table class="stack"><thead><tr><th>RUN</th><th>PHASE</th><th>STATUS</th><th>BEGAN</th><th>WHO</th><th>TOKENS</th><th>SUMMARY</th></tr></thead><tbody>${story.phases.map((/** @type {any} */ run) => html`<tr key=${run.run}><td>${run.run}</td><td>${run.phase}</td><td class=${run.status === "PASS" ? "done" : ["FAIL", "ERROR", "TIMEOUT"].includes(run.status) ? "fail" : "run"}>${run.verdict || run.status}</td><td class="hide cut"><${Time} at=${run.started_at} /></td><td class="full">${run.workers.map((/** @type {any} */ each) => html`<a href=${`/tasks/${encodeURIComponent(each.task)}`}>${each.role}${each.status ? ` ${each.status}` : ""}</a> `)}</td><td class="hide">${tokensWords(run.tokens_input + run.tokens_output)}</td><td class="why full">${run.summary}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">No phase has begun: <code>medbay story run ${story.id}</code></p>`}</section>
    <section class="section"><h2>Budgets</h2><ul>${story.budgets.map((/** @type {any} */ each) => html`<li class=${each.level === "limit" ? "fail" : each.level ? "wait" : ""}>${each.phase}: ${tokensWords(each.used)} of ${tokensWords(each.limit)}, warned at ${tokensWords(each.warning)} (${each.enforcement})</li>`)}</ul></section>
    ${story.decisions.length ? html`<section class="section"><h2>Decisions</h2><ul>${story.decisions.map((/** @type {any} */ each) => html`<li>${each.question} <b>${each.answer || "open"}</b> <span class="dim">${each.kind}${each.answered_by ? `, ${each.answered_by.replace("person:", "")}` : ""}</span></li>`)}</ul></section>` : null}
    <section class="section"><h2>Artifacts</h2><ul>${story.artifacts.map((/** @type {string} */ each) => html`<li class="mono">${each}</li>`)}</ul></section>`;
}
