// The fleet: a timeline of tasks, failures by category, what waits for what, what recurs.
import * as filters from "../filter.js";
import { query } from "../api.js";
import { FleetLanes } from "../timeline.js";
import { Stacked } from "../plot.js";
import { go, html, Loaded, many, Status, TaskId, Time, useEffect, useKey, useResource, useRows, useState } from "../parts.js";
import { clock, ms } from "../time.js";
import { FilterBox } from "./tasks.js";

const TABS = ["timeline", "graph", "cron"];
const HOUR = 3600000;

/** @param {{url: URL}} props */
export function Fleet({ url }) {
  const tab = TABS.includes(url.searchParams.get("tab") || "") ? url.searchParams.get("tab") : "timeline";
  useKey("v", () => go(`/fleet?tab=${TABS[(TABS.indexOf(tab || "") + 1) % TABS.length]}`), "next tab");
  return html`<div class="row"><h1>Fleet</h1><nav class="tabs" aria-label="ways to see it"><a class="button" href="/tasks">List</a>${TABS.map((name) => html`<a class="button" aria-current=${tab === name ? "true" : undefined} href=${`/fleet?tab=${name}`}>${name[0].toUpperCase() + name.slice(1)}</a>`)}</nav></div>
    ${tab === "graph" ? html`<${Graph} />` : tab === "cron" ? html`<${Cron} />` : html`<${Timeline} url=${url} />`}`;
}
/** @param {{url: URL}} props */
function Timeline({ url }) {
  const asked = filters.ofAddress(url);
  const [hours, setHours] = useState(12);
  const [shift, setShift] = useState(0);
  const centre = clock.now() + shift * HOUR, from = centre - hours * HOUR, to = centre + hours * HOUR;
  const back = Math.ceil((clock.now() - from) / HOUR);
  const found = useResource(`/api/timeline${query({ ...asked, back: `${Math.max(1, back)}h`, limit: 100 })}`);
  const failures = useResource(`/api/statistics/failures?since=${back > 48 ? "7d" : "48h"}`);
  useKey("+", () => setHours((was) => Math.max(1, was / 2)), "closer");
  useKey("-", () => setHours((was) => Math.min(168, was * 2)), "farther");
  useKey("h", () => setShift((was) => was - hours / 2), "earlier");
  useKey("l", () => setShift((was) => was + hours / 2), "later");
  useKey("0", () => setShift(0), "now");
  const rows = found.data ? found.data.rows.length : 0;
  const at = useRows(rows, (n) => go(`/tasks/${sorted(found.data.rows)[n].id}`));
  return html`<div style=${{ marginTop: ".7rem" }}><${FilterBox} asked=${asked} path="/fleet" /></div>
    <div class="row"><button aria-label="earlier" onClick=${() => setShift(shift - hours / 2)}>◂</button><button onClick=${() => setShift(0)}>now</button><button aria-label="later" onClick=${() => setShift(shift + hours / 2)}>▸</button><button aria-label="closer" onClick=${() => setHours(Math.max(1, hours / 2))}>+</button><button aria-label="farther" onClick=${() => setHours(Math.min(168, hours * 2))}>−</button><span class="dim">${hours}h back, ${hours}h ahead${found.data ? html` · ${many(found.data.total)} tasks${found.data.total > rows ? `, the ${rows} that changed last are drawn` : ""}` : null}</span></div>
    <div class="card section"><${Loaded} of=${failures} height="7rem">${(/** @type {any} */ data) => html`<${Stacked} title="Failures by category, each hour" data=${data} height=${110} link=${(/** @type {string} */ name) => `/tasks?category=${encodeURIComponent(name)}`} />`}<//></div>
    <div class="section"><${Loaded} of=${found} height="20rem">${(/** @type {any} */ data) => (data.rows.length ? html`<${FleetLanes} data=${{ ...data, rows: sorted(data.rows) }} from=${from} to=${to} at=${at} open=${(/** @type {string} */ id) => go(`/tasks/${id}`)} />` : html`<p class="empty">Nothing ran or is due here.</p>`)}<//></div>`;
}
/** Held first, then what recurs, then the rest. @param {any[]} rows */
const sorted = (rows) => [...rows].sort((one, two) => ["held", "recurring", "one-off"].indexOf(one.group) - ["held", "recurring", "one-off"].indexOf(two.group));

function Graph() {
  const found = useResource("/api/graph");
  const large = Boolean(found.data && found.data.more);
  const folded = useResource(large ? "/api/graph?fold=true" : null);
  return html`<div class="section"><${Loaded} of=${large ? folded : found} height="20rem">${(/** @type {any} */ data) => (data.groups ? html`<${Drawing} data=${unfolded(data)} words=${`more than ${many(found.data.tasks.length)} tasks: folded by tag${data.more ? `, ${many(data.more)} are not drawn` : ""}`} />` : data.tasks.length ? html`<${Drawing} data=${data} />` : html`<p class="empty">Nothing waits for another task.</p>`)}<//></div>`;
}
/** Tags as nodes. @param {any} data */
function unfolded(data) {
  const name = (/** @type {string | null} */ tag) => tag || "(no tag)";
  const worst = (/** @type {any} */ statuses) => ["blocked", "failed", "in_progress", "pending"].find((each) => statuses[each]) || "completed";
  return { edges: data.edges.map((/** @type {any} */ each) => ({ task: name(each.tag), after: name(each.after) })), more: 0,
    tasks: data.groups.map((/** @type {any} */ each) => ({ id: name(each.tag), title: `· ${many(each.tasks)}`, status: worst(each.statuses), behind: each.behind ? `${many(each.behind)} of them` : null, link: each.tag ? `/tasks?tag=${encodeURIComponent(each.tag)}&stands=wait` : "/tasks?stands=wait" })) };
}
const LOOKS = /** @type {Record<string, [string, string]>} */ ({ pending: ["○", "idle"], in_progress: ["▶", "run"], pending_verification: ["◐", "run"], failed: ["◷", "wait"], blocked: ["!", "you"], completed: ["✓", "done"], cancelled: ["–", "idle"] });
/** Layers from what comes first to what comes last. @param {{data: any, words?: string}} props */
function Drawing({ data, words = "" }) {
  const layer = /** @type {Map<string, number>} */ (new Map());
  const after = /** @type {Map<string, string[]>} */ (new Map());
  for (const edge of data.edges) (after.get(edge.task) || after.set(edge.task, []).get(edge.task) || []).push(edge.after);
  const depth = (/** @type {string} */ id, /** @type {Set<string>} */ path) => {
    if (layer.has(id)) return /** @type {number} */ (layer.get(id));
    if (path.has(id)) return 0;
    const found = Math.max(0, ...(after.get(id) || []).map((each) => depth(each, new Set([...path, id])) + 1));
    layer.set(id, found);
    return found;
  };
  for (const task of data.tasks) depth(task.id, new Set());
  const columns = /** @type {any[][]} */ ([]);
  for (const task of data.tasks) (columns[layer.get(task.id) || 0] ||= []).push(task);
  const wide = 220, high = 46, place = /** @type {Map<string, [number, number]>} */ (new Map());
  columns.forEach((column, x) => column.forEach((task, y) => place.set(task.id, [x * (wide + 60) + 10, y * high + 10])));
  const width = columns.length * (wide + 60), height = Math.max(...columns.map((each) => (each || []).length)) * high + 20;
  const behind = new Map(data.tasks.map((/** @type {any} */ each) => [each.id, each.behind]));
  return html`<p class="dim">${words || `${many(data.tasks.length)} tasks`}; dashed: cannot go on until a person acts.</p><div class="scroll"><svg class="graph" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label="what waits for what">
    ${data.edges.map((/** @type {any} */ edge) => { const a = place.get(edge.after), b = place.get(edge.task); if (!a || !b) return null; return html`<path class="edge ${behind.get(edge.task) ? "dead" : ""}" d=${`M${a[0] + wide} ${a[1] + 17}C${a[0] + wide + 30} ${a[1] + 17} ${b[0] - 30} ${b[1] + 17} ${b[0]} ${b[1] + 17}`} />`; })}
    ${data.tasks.map((/** @type {any} */ task) => { const [x, y] = place.get(task.id) || [0, 0], [glyph, token] = LOOKS[task.status]; return html`<a class="node" href=${task.link || `/tasks/${task.id}`} aria-label=${`${task.id} ${task.title}, ${task.status}${task.behind ? `, stuck behind ${task.behind}` : ""}`}><rect class="f-${token} ${"f-hollow"}" x=${x} y=${y} width=${wide} height="34" rx="6" stroke-dasharray=${task.behind ? "5 4" : undefined} /><text class="t-${token}" x=${x + 10} y=${y + 22}>${glyph}</text><text x=${x + 28} y=${y + 22}>${`${task.id} ${task.title}`.slice(0, 26)}</text></a>`; })}</svg></div>`;
}
function Cron() {
  const found = useResource("/api/schedules");
  return html`<div class="section"><${Loaded} of=${found}>${(/** @type {any} */ data) => (data.tasks.length ? html`<div class="scroll"><table><thead><tr><th>ID</th><th>TITLE</th><th>SCHEDULE</th><th>NEXT</th><th>IN ITS OWN ZONE</th><th>STATUS</th><th>SO FAR</th></tr></thead><tbody>${data.tasks.map((/** @type {any} */ each) => html`<tr key=${each.id}><td><${TaskId} id=${each.id} /></td><td><a href=${`/tasks/${each.id}`}>${each.title}</a></td><td class="mono">${each.how}</td><td>${each.next_at ? html`<${Time} at=${each.next_at} form="in" exact />` : ""}</td><td>${each.next_at && each.zone ? own(each.next_at, each.zone) : ""}</td><td><${Status} phrase=${each.phrase} /></td><td class="dim">${each.progress}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">Nothing recurs. medbay add nightly --run ./pull.sh --cron '0 3 * * *' makes something that does.</p>`)}<//></div>`;
}
/** @param {string} at @param {string} zone */
function own(at, zone) {
  try {
    return `${new Intl.DateTimeFormat("en-GB", { timeZone: zone, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(ms(at))} ${zone}`;
  } catch {
    return zone;
  }
}
