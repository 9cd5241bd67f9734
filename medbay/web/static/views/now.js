// Now: does anything need me, what is Medbay doing about the rest, when does it wake.
import { Ask } from "../ask.js";
import * as actions from "../actions.js";
import { Command, counted, go, html, Loaded, many, Pill, Status, TaskId, Time, useKey, useRows, useSettled, useState, useTint } from "../parts.js";

const COUNTS = [["you", "!", "need you", "/inbox", "asked"], ["run", "▶", "running", "/tasks?stands=run", "run"], ["wait", "◷", "waiting", "/tasks?stands=wait", "wait"], ["held", "‖", "held", "/tasks?stands=held", "held"], ["idle", "○", "ready", "/tasks?stands=ready", "ready"], ["done", "✓", "done in 24h", "/tasks?status=completed&since=24h", "done"]];

/** @param {{row: any, gone: boolean, at: boolean}} props */
function Running({ row, gone, at }) {
  return html`<li class="item ${gone ? "gone" : ""} ${at ? "at" : ""} ${useTint(row.live)}" data-at=${at ? 1 : 0}><span class=${row.phrase.token} aria-hidden="true">${row.phrase.glyph}</span><${TaskId} id=${row.id} />
    <span class="name cut"><a href=${`/tasks/${row.id}`}>${row.title}</a></span><span class="st run"><span class="sr">running, </span>attempt ${row.live || row.attempts} <span class="dim"><${Time} at=${row.since} form="for" />${row.output_at ? html`, output <${Time} at=${row.output_at} />` : ", no output yet"}</span></span>
    <span class="why out cut">${row.output ? `› ${row.output}` : ""}</span><span class="acts"><a class="button" href=${`/tasks/${row.id}/attempts/${row.live || row.attempts}/log`}>log ▸</a></span></li>`;
}
/** @param {{row: any, gone: boolean, at: boolean}} props */
function Waiting({ row, gone, at }) {
  return html`<li class="item ${gone ? "gone" : ""} ${at ? "at" : ""} ${useTint(row.next_at + row.phrase.stem)}" data-at=${at ? 1 : 0}><span class=${row.phrase.token} aria-hidden="true">${row.phrase.glyph}</span><${TaskId} id=${row.id} />
    <span class="name cut"><a href=${`/tasks/${row.id}`}>${row.title}</a></span><span class="st ${row.phrase.token}">${row.phrase.stem} ${row.phrase.form ? html`<${Time} at=${row.phrase.at} form=${row.phrase.form} exact=${row.phrase.form === "in"} />` : null}</span>
    <span class="why cut" title=${row.why}>${row.category ? html`<span class="dim">${row.category}</span> ` : null}${row.why}</span><span class="acts">${row.status === "failed" ? html`<button onClick=${() => actions.retry(row)} aria-label=${`retry ${row.id} now`}>now</button>` : null}</span></li>`;
}
/** @param {{each: any}} props */
function Held({ each }) {
  const link = each.kind === "incident" ? `/incidents/${encodeURIComponent(each.fingerprint)}` : `/breakers/${encodeURIComponent(each.key)}`;
  return html`<li class="item"><span class=${each.token} aria-hidden="true">${each.glyph}</span><span class="name wide" style=${{ gridColumn: "2 / 4" }}><a href=${link}>${each.key}</a></span>
    <span class="st held">${each.held ? html`${counted(each.held, "task")} ${each.held === 1 ? "holds" : "hold"}` : each.state.replace("_", "-")}${each.next_probe_at ? html` <${Time} at=${each.next_probe_at} form="until" />` : null}</span>
    <span class="why cut" title=${each.why}>${each.why}; ${each.ends}</span><span class="acts">${each.held ? html`<a class="button" href=${`/tasks?held=${encodeURIComponent(each.key)}`}>${many(each.held)} ▸</a>` : null}<button onClick=${() => actions.closeBreaker(each)}>close…</button></span></li>`;
}
/** @param {{overview: any}} props */
export function Now({ overview }) {
  return html`<h1 class="sr">Now</h1><${Loaded} of=${overview} height="20rem">${(/** @type {any} */ data) => html`<${Page} data=${data} />`}<//>`;
}
/** @param {{data: any}} props */
function Page({ data }) {
  const asked = useSettled(data.questions, (each) => each.id, "asked");
  const running = useSettled(data.running, (each) => each.id, "running");
  const waiting = useSettled(data.waiting, (each) => each.id, "waiting");
  const lists = [asked, running, waiting];
  const fresh = lists.reduce((sum, each) => sum + each.fresh, 0);
  const show = () => { for (const each of lists) each.apply(); };
  const rows = [...asked.list.map((each) => `/inbox/${each.id}`), ...running.list.map((each) => `/tasks/${each.id}`), ...waiting.list.map((each) => `/tasks/${each.id}`)];
  const at = useRows(rows.length, (row) => go(rows[row]));
  const [answering, setAnswering] = useState(false);
  const current = asked.list[Math.max(0, Math.min(at, asked.list.length - 1))];
  const task = at >= asked.list.length ? [...running.list, ...waiting.list][at - asked.list.length] : null;
  useKey("a", () => { if (current) setAnswering(true); }, "answer the question");
  for (let number = 1; number <= 9; number += 1) useKey(String(number), () => { if (answering && current && !current.gone) { setAnswering(false); actions.answer(current.row, number); } }, number === 1 ? "choose an option" : "");
  useKey("r", () => { if (task) actions.retry(task.row); }, "retry");
  useKey("p", () => { if (task) (task.row.paused ? actions.resume : actions.pause)(task.row); }, "pause or resume");
  useKey("c", () => {}, "");
  const c = data.counts;
  return html`<${Pill} number=${fresh} show=${show} />
    <div class="counts">${COUNTS.map(([token, glyph, words, path, name]) => html`<a class="${token} ${c[name] ? "" : "zero"}" href=${path}><span aria-hidden="true">${glyph}</span> <b>${many(c[name])}</b>${words === "need you" && c[name] === 1 ? "needs you" : words}</a>`)}
    <span class="wake">${data.next_wake ? html`next wake <${Time} at=${data.next_wake} form="in" exact />` : data.counts.run ? "" : "nothing is due"}</span></div>
    ${data.empty ? html`<div class="card section"><h2>Nothing was added yet</h2><div class="empty">Three commands to begin with:<br/>${["medbay add 'my first task' --run 'make test'", "medbay add nightly --run ./pull.sh --cron '0 3 * * *'", "medbay run -- ./deploy.sh"].map((text) => html`<div><${Command} text=${text} /></div>`)}</div></div>` : null}
    <section class="section" aria-label="needs you"><h2>Needs you ${c.asked > 8 ? html`<a href="/inbox">all ${c.asked} ▸</a>` : null}</h2>
      ${asked.list.length ? asked.list.map((each, n) => html`<${Ask} key=${each.id} question=${each.row} gone=${each.gone} at=${at === n || (answering && current === each)} answering=${answering && current === each} />`)
        : html`<p class="empty">Nothing needs you.${data.next_wake ? html` Next wake <${Time} at=${data.next_wake} form="in" exact />${data.waiting[0] ? html`, ${data.waiting[0].title}` : null}.` : null}</p>`}</section>
    ${data.breakers.length ? html`<section class="section" aria-label="incidents and breakers"><h2>Incidents and breakers <a href="/incidents">all ▸</a></h2><ul>${data.breakers.slice(0, 8).map((/** @type {any} */ each) => html`<${Held} key=${each.key} each=${each} />`)}</ul></section>` : null}
    <section class="section" aria-label="running"><h2>Running <span>${data.slots.busy} of ${data.slots.total} slots</span>${c.run > 8 ? html`<a href="/tasks?stands=run">all ${many(c.run)} ▸</a>` : null}</h2>
      ${running.list.length ? html`<ul>${running.list.map((each, n) => html`<${Running} key=${each.id} row=${each.row} gone=${each.gone} at=${at === asked.list.length + n} />`)}</ul>` : html`<p class="empty">Nothing runs.</p>`}</section>
    <section class="section" aria-label="waiting"><h2>Waiting, soonest first ${c.wait > 8 ? html`<a href="/tasks?stands=wait">all ${many(c.wait)} ▸</a>` : null}</h2>
      ${waiting.list.length ? html`<ul>${waiting.list.map((each, n) => html`<${Waiting} key=${each.id} row=${each.row} gone=${each.gone} at=${at === asked.list.length + running.list.length + n} />`)}</ul>` : html`<p class="empty">Nothing waits.</p>`}</section>`;
}
