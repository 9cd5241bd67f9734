// One task: why it is where it is, what comes next, its timeline; attempts, guidance, events, cost, specification.
import * as actions from "../actions.js";
import { get } from "../api.js";
import { Ask } from "../ask.js";
import { Lanes } from "../timeline.js";
import { Command, copy, Fingerprint, go, html, Loaded, money, Problem, Status, TaskId, Time, tokensWords, useEffect, useKey, useResource, useState, Words } from "../parts.js";
import { clockWords, ms, short } from "../time.js";

const TABS = ["Attempts", "Guidance", "Events", "Cost", "Spec"];

/** @param {{parts: (string | undefined)[], url: URL}} props */
export function Task({ parts, url }) {
  const id = parts[0] || "";
  const found = useResource(`/api/tasks/${encodeURIComponent(id)}`, { live: (events) => events.some((each) => !each.task || each.task === id || id.startsWith(each.task) || each.task.startsWith(id)) });
  if (found.error && found.error.status === 404 && !found.data) return html`<${Missing} id=${id} error=${found.error} />`;
  return html`<${Loaded} of=${found} height="24rem">${(/** @type {any} */ data) => html`<${Page} data=${data} number=${parts[1] ? Number(parts[1]) : null} url=${url} />`}<//>`;
}
/** @param {{id: string, error: any}} props */
function Missing({ id, error }) {
  const near = useResource(`/api/tasks/${encodeURIComponent(id)}/near`, { live: false });
  return html`<h1>${error.message}</h1><p class="dim">${error.hint}</p>${near.data && near.data.tasks.length ? html`<section class="section"><h2>Near matches</h2><ul>${near.data.tasks.map((/** @type {any} */ each) => html`<li class="item"><span></span><${TaskId} id=${each.id} /><span class="name">${each.title}</span></li>`)}</ul></section>` : null}`;
}
/** @param {{data: any, number: number | null, url: URL}} props */
function Page({ data, number, url }) {
  const task = data.task, phrase = task.phrase;
  const over = task.status === "completed" || task.status === "cancelled";
  const [tab, setTab] = useState(url.searchParams.get("tab") || "Attempts");
  const [picked, setPicked] = useState(number || task.attempts_total);
  const latest = task.attempts_total;
  const said = (/** @type {string} */ label) => data.explanation.sentences.filter((/** @type {any} */ each) => each.label === label);
  const retry = () => actions.retry(task, data.same_again && task.status !== "blocked");
  const toLog = () => go(`/tasks/${task.id}/attempts/${picked || latest}/log`);
  useEffect(() => { if (!number) setPicked(latest); }, [latest]);
  useKey("r", () => { if (!over) retry(); }, "retry");
  useKey("p", () => { if (!over) (task.paused ? actions.resume : actions.pause)(task); }, "pause or resume");
  useKey("a", () => { const box = /** @type {HTMLElement | null} */ (document.querySelector(".ask button")); if (box) box.focus(); }, "answer");
  for (let n = 1; n <= 9; n += 1) useKey(String(n), () => { if (task.question) actions.answer(asked(task), n); }, n === 1 ? "choose an option" : "");
  useKey("[", () => setPicked((/** @type {number} */ was) => Math.max(1, was - 1)), "attempt before");
  useKey("]", () => setPicked((/** @type {number} */ was) => Math.min(latest, was + 1)), "next attempt");
  useKey("l", toLog, "log");
  useKey("w", () => { const why = document.getElementById("why"); if (why) why.scrollIntoView(); }, "why");
  useKey("c", () => copy(`medbay show ${task.id}`), "copy the command");
  return html`<div class="row"><h1><span class="id dim">${task.id}</span> ${task.title}</h1></div>
    <div class="row" style=${{ margin: ".3rem 0 .6rem" }}><${Status} phrase=${phrase} /><span class="dim">since <${Time} at=${task.since} /></span>${data.cost.tokens || data.cost.cost ? html`<span class="dim">${money(data.cost.cost)} · ${tokensWords(data.cost.tokens)}</span>` : null}${data.recurs ? html`<span class="dim">${data.recurs}</span>` : null}${task.tags.map((/** @type {string} */ tag) => html`<a class="tag" href=${`/tasks?tag=${encodeURIComponent(tag)}`}>${tag}</a>`)}</div>
    <div class="row">${over ? null : html`<button disabled=${task.live !== null} title=${task.live !== null ? "it runs now" : "try it once more, now (r)"} onClick=${retry}>Retry</button>
      ${task.status === "blocked" ? html`<button onClick=${() => actions.unblock(task)}>Unblock</button>` : null}
      ${task.paused ? html`<button onClick=${() => actions.resume(task)}>Resume</button>` : html`<button onClick=${() => actions.pause(task)}>Pause</button>`}
      <button onClick=${() => actions.guide(task)}>Guidance…</button>${task.category ? html`<button onClick=${() => actions.triage(task)} disabled=${task.live !== null} title="look at it now, whatever its cooldown">Triage now</button>` : null}
      <button class="danger" onClick=${() => actions.cancel(task)}>Cancel…</button>`}
      ${latest ? html`<a class="button" href=${`/tasks/${task.id}/attempts/${latest}/log`}>Log ▸</a>` : null}<button class="plain" onClick=${() => copy(location.href)}>link</button><${Command} text=${`medbay show ${task.id}`} /></div>
    ${task.question ? html`<${Ask} question=${asked(task)} whole at />` : null}
    <dl class="facts" id="why">${said("Why").length ? html`<dt>Why</dt><dd>${said("Why").map((/** @type {any} */ each) => html`<div><${Words} text=${each.text} /></div>`)}</dd>` : null}
      ${said("Next").map((/** @type {any} */ each) => html`<dt>Next</dt><dd><${Words} text=${each.text} /></dd>`)}
      ${said("Change").map(() => html`<dt>Would change it</dt><dd>${data.explanation.changes.map((/** @type {string} */ text) => html`<${Command} text=${text.split(" (")[0]} />`)}</dd>`)}
      ${said("If it fails the same way").map((/** @type {any} */ each) => html`<dt>If it keeps failing</dt><dd class="dim"><${Words} text=${each.text} /></dd>`)}
      ${latest ? null : html`<dt>Attempts</dt><dd>Not started${task.after.length ? html`: waits for ${task.after.map((/** @type {string} */ each) => html`<${TaskId} id=${each} /> `)}` : "."}</dd>`}</dl>
    <div class="card"><${Lanes} data=${data.timeline} open=${(/** @type {number} */ n) => go(`/tasks/${task.id}/attempts/${n}/log`)} /></div>
    <div class="tabs section" role="tablist">${TABS.map((name) => html`<button role="tab" aria-selected=${tab === name} onClick=${() => { setTab(name); history.replaceState(history.state, "", `${url.pathname}?tab=${name}`); }}>${name}${name === "Attempts" ? ` ${latest}` : ""}</button>`)}</div>
    <div class="panel" role="tabpanel">${tab === "Attempts" ? html`<${Attempts} task=${task} picked=${picked} pick=${setPicked} />` : tab === "Guidance" ? html`<${Guidance} task=${task} />` : tab === "Events" ? html`<${Events} id=${task.id} />` : tab === "Cost" ? html`<${Cost} data=${data} />` : html`<${Spec} data=${data} />`}</div>`;
}
/** The question of a task in the shape of a list. @param {any} task */
const asked = (task) => ({ ...task.question, name: task.id, about: [{ id: task.id, title: task.title, phrase: task.phrase, category: task.category, attempts: task.attempts_total }] });

/** @param {any} each */
const glyph = (each) => (!each.outcome ? ["▶", "run"] : each.outcome === "succeeded" || each.outcome === "rescued" ? ["✓", "done"] : each.outcome === "lost" || each.outcome === "requeued" ? ["◌", "idle"] : each.outcome === "cancelled" ? ["–", "idle"] : ["✗", "fail"]);
/** @param {any} each */
const ending = (each) => (!each.outcome ? "running" : each.outcome === "timed_out" ? "time limit" : each.outcome === "failed" ? (each.signal !== null ? `signal ${each.signal}` : each.exit_code !== null ? `exit ${each.exit_code}` : "could not start") : each.outcome.replace("_", " "));

/** @param {{task: any, picked: number, pick: (n: number) => void}} props */
function Attempts({ task, picked, pick }) {
  const [other, setOther] = useState(/** @type {number | null} */ (null));
  const list = [...task.attempts].reverse();
  if (!list.length) return html`<p class="empty">Not started yet.</p>`;
  const one = task.attempts.find((/** @type {any} */ each) => each.number === picked), two = task.attempts.find((/** @type {any} */ each) => each.number === other);
  return html`<div class="scroll"><table><thead><tr><th>#</th><th>ended</th><th>started</th><th>took</th><th>diagnosis</th><th>cost</th><th></th></tr></thead><tbody>${list.map((each) => {
    const [sign, token] = glyph(each), found = each.diagnosis;
    return html`<tr key=${each.number} class=${each.number === picked ? "at" : ""} onClick=${() => pick(each.number)}><td class="num">${each.number}</td><td class=${token}>${sign} ${ending(each)}${each.charged || !found ? "" : html` <span class="dim">(not counted)</span>`}</td><td><${Time} at=${each.started_at} form="clock" /></td><td>${each.duration_s === null ? html`<${Time} at=${each.started_at} form="for" />` : short(each.duration_s * 1000)}</td>
      <td class="why">${found ? html`<b>${found.category}${found.subcategory ? `/${found.subcategory}` : ""}</b> ${found.confidence.toFixed(2)} · ${found.summary} · <${Fingerprint} fp=${found.fingerprint} />` : ""}</td><td>${each.cost ? money(each.cost) : each.tokens ? tokensWords(each.tokens) : ""}</td>
      <td><span class="row"><a class="button" href=${`/tasks/${task.id}/attempts/${each.number}/log`}>log</a>${found ? html`<button onClick=${(/** @type {Event} */ e) => { e.stopPropagation(); actions.reclassify({ ...task, category: found.category }, each.number); }}>reclassify</button>` : null}<button class="plain" onClick=${(/** @type {Event} */ e) => { e.stopPropagation(); setOther(other === each.number ? null : each.number); }}>${other === each.number ? "no comparison" : "compare"}</button></span></td></tr>`;
  })}</tbody></table></div>${one && two && one !== two ? html`<${Compare} task=${task} one=${two} two=${one} />` : one ? html`<${Detail} each=${one} />` : null}`;
}
/** @param {{each: any}} props */
function Detail({ each }) {
  return html`<div class="panel"><div class="title">Attempt ${each.number}</div><dl class="facts">${each.diagnosis ? html`<dt>Evidence</dt><dd><pre class="pre">${each.diagnosis.excerpt || "(no text: facts beyond the log)"}</pre></dd><dt>Rule</dt><dd>${each.diagnosis.rule}</dd><dt>Advice</dt><dd>${each.diagnosis.suggested_fix}</dd>` : null}
    ${each.guidance ? html`<dt>Was told</dt><dd><pre class="pre">${each.guidance}</pre></dd>` : null}${each.checks.length ? html`<dt>Checks</dt><dd>${each.checks.map((/** @type {any} */ one) => html`<div><span class=${one.status === "PASS" ? "done" : "fail"}>${one.status === "PASS" ? "✓" : "✗"} ${one.status}</span> <code>${Array.isArray(one.command) ? one.command.join(" ") : one.command}</code></div>`)}</dd>` : null}
    <dt>Ran on</dt><dd>${each.host}, process ${each.pid ?? "?"}, worker ${each.worker}</dd><dt>Log file</dt><dd><${Command} text=${each.log_path} /></dd></dl></div>`;
}
/** Two attempts side by side, down to the first line that differs. @param {{task: any, one: any, two: any}} props */
function Compare({ task, one, two }) {
  const [differs, setDiffers] = useState(/** @type {any} */ (null));
  useEffect(() => {
    setDiffers(null);
    Promise.all([one, two].map((each) => get(`/api/tasks/${task.id}/attempts/${each.number}/log`, { first: 1, count: 1000 }))).then(([a, b]) => {
      const at = a.rows.findIndex((/** @type {any} */ row, /** @type {number} */ n) => !b.rows[n] || b.rows[n].text !== row.text);
      setDiffers(at < 0 ? { none: true } : { line: at + 1, a: a.rows[at] ? a.rows[at].text : "", b: b.rows[at] ? b.rows[at].text : "" });
    }, () => setDiffers({ none: true }));
  }, [one.number, two.number]);
  const column = (/** @type {any} */ each, /** @type {string} */ line) => html`<div class="card"><b>Attempt ${each.number}</b> ${ending(each)}<p>${each.diagnosis ? `${each.diagnosis.category}/${each.diagnosis.subcategory || ""} ${each.diagnosis.confidence.toFixed(2)}: ${each.diagnosis.summary}` : "no failure"}</p><p class="dim">${each.cost ? money(each.cost) : ""} ${each.guidance ? "told:" : "told nothing"}</p>${each.guidance ? html`<pre class="pre">${each.guidance}</pre>` : null}<pre class="pre">${line}</pre></div>`;
  return html`<div class="panel"><div class="title">Attempts ${one.number} and ${two.number}${differs && differs.line ? ` differ first in line ${differs.line}` : differs ? ": the first 1,000 lines are the same" : ""}</div><div class="two">${column(one, differs ? differs.a || "" : "")}${column(two, differs ? differs.b || "" : "")}</div></div>`;
}
/** @param {{task: any}} props */
function Guidance({ task }) {
  return html`<p><button onClick=${() => actions.guide(task)}>Tell the next attempt something…</button></p>${task.guidance.length ? html`<div class="scroll"><table><thead><tr><th>for attempt</th><th>advice</th><th>against</th><th>record</th></tr></thead><tbody>${[...task.guidance].reverse().map((each) => html`<tr><td class="num">${each.attempt}</td><td>${each.text || each.advice} ${each.cured === true ? html`<span class="done">✓ cured</span>` : each.cured === false ? html`<span class="fail">✗ did not help</span>` : ""}</td><td><${Fingerprint} fp=${each.fingerprint} /></td><td>${each.record ? `${each.record.cured} of ${each.record.given}` : ""}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">No attempt was told anything yet.</p>`}`;
}
/** @param {{id: string}} props */
function Events({ id }) {
  const found = useResource(`/api/events?task=${encodeURIComponent(id)}&limit=200`);
  return html`<${Loaded} of=${found}>${(/** @type {any} */ data) => html`<div class="scroll"><table><tbody>${[...data.events].reverse().map((each) => html`<tr key=${each.seq}><td class="num dim">${each.seq}</td><td><${Time} at=${each.at} form="clock" /></td><td class=${each.said.token}>${each.said.glyph} ${each.name}</td><td class="why">${each.said.words}</td></tr>`)}</tbody></table></div>`}<//>`;
}
/** @param {{data: any}} props */
function Cost({ data }) {
  const list = data.task.attempts.filter((/** @type {any} */ each) => each.tokens || each.cost);
  return html`<p>${money(data.cost.cost)} and ${tokensWords(data.cost.tokens)} over ${data.task.attempts_total} attempts.</p>${list.length ? html`<table><thead><tr><th>#</th><th class="num">tokens</th><th class="num">cost</th></tr></thead><tbody>${list.map((/** @type {any} */ each) => html`<tr><td>${each.number}</td><td class="num">${each.tokens ?? ""}</td><td class="num">${each.cost ? money(each.cost) : ""}</td></tr>`)}</tbody></table>` : html`<p class="empty">No attempt reported tokens or money.</p>`}`;
}
/** @param {{data: any}} props */
function Spec({ data }) {
  const task = data.task;
  const rows = [["does", data.work], ["in", task.cwd], ["description", task.description], ["specification", task.spec], ["tags", task.tags.join(", ")], ["queue", task.queue], ["priority", task.priority], ["time limit", task.timeout_s ? short(task.timeout_s * 1000) : ""], ["after", task.after.join(", ")], ["providers", task.providers.join(", ")], ["policy", task.policy], ["recurs", data.recurs], ["zone", task.zone], ["key", task.key], ["checks", task.checks.map((/** @type {any} */ each) => (Array.isArray(each.command) ? each.command.join(" ") : each.command)).join(" · ")], ["added", `${clockWords(ms(task.created_at))} by ${task.created_by.replace("person:", "")}`], ["result", task.result === null || task.result === undefined ? "" : JSON.stringify(task.result)]];
  return html`<dl class="facts">${rows.filter((each) => each[1] !== "" && each[1] !== null && each[1] !== undefined).map(([name, value]) => html`<dt>${name}</dt><dd class="pre" style=${{ margin: 0, background: "none", padding: 0 }}>${value}</dd>`)}</dl><div class="title">Transitions</div><div class="scroll"><table><tbody>${[...task.history].reverse().map((each) => html`<tr><td><${Time} at=${each.at} form="clock" /></td><td>${each.from} → ${each.to}</td><td>${each.actor.replace("person:", "")}</td><td class="why">${each.reason}</td></tr>`)}</tbody></table></div>`;
}
