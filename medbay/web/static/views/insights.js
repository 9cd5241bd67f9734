// Insights: how much heals by itself, how often retries help, what it costs, what people are called for.
import { Bars, duration, Healing, Spark, Stacked } from "../plot.js";
import { Fingerprint, html, Loaded, many, money, tokensWords, useResource } from "../parts.js";
import { ms } from "../time.js";

const WINDOWS = ["24h", "7d", "30d"];

/** @param {{url: URL}} props */
export function Insights({ url }) {
  const since = WINDOWS.includes(url.searchParams.get("since") || "") ? url.searchParams.get("since") : "7d";
  const found = useResource(`/api/statistics?since=${since}`, { live: false, every: 60000 });
  return html`<div class="row"><h1>Insights</h1><span class="dim">the last ${since} against the ${since} before</span><span class="grow"></span>${WINDOWS.map((each) => html`<a class="button" aria-current=${each === since ? "true" : undefined} href=${`/insights?since=${each}`}>${each}</a>`)}<a class="button" href="/fingerprints">Fingerprints ▸</a></div>
    <${Loaded} of=${found} height="30rem">${(/** @type {any} */ data) => html`<${Page} data=${data} since=${since} />`}<//>`;
}
/** @param {any} done */
function alone(done) {
  const by = (done.plain || 0) + (done.healed || 0), all = by + (done.person || 0);
  return { by, all, share: all ? (100 * by) / all : null };
}
/** @param {{data: any, since: string | null}} props */
function Page({ data, since }) {
  const now = alone(data.done), before = alone(data.done_before), attempts = Object.values(data.attempts).reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each, 0);
  const cost = data.cost.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.cost, 0), tokens = data.cost.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.tokens, 0);
  const called = data.called.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.n, 0);
  const points = now.share !== null && before.share !== null ? Math.round(now.share - before.share) : null;
  const range = { since: data.since, until: data.until };
  const hasCost = cost > 0;
  return html`<div class="figures">
      <div class="card figure"><b>${now.share === null ? "–" : `${Math.round(now.share)} %`}</b>done without anyone: ${many(now.by)} of ${many(now.all)} ${points === null ? "" : html`<span class=${points >= 0 ? "done" : "fail"}>${points >= 0 ? "▲" : "▼"} ${Math.abs(points)} points</span>`}</div>
      <div class="card figure"><b>${many(data.done.healed || 0)}</b>healed after a failure</div>
      <div class="card figure"><b>${duration(data.heal.p50_s)}</b>to heal, half of them; nine in ten within ${duration(data.heal.p90_s)}</div>
      <div class="card figure"><b>${many(called)}</b>times a person was called</div>
      <div class="card figure"><b>${hasCost ? money(cost) : tokens ? tokensWords(tokens) : "$0"}</b>spent${hasCost && tokens ? `, ${tokensWords(tokens)}` : ""}</div></div>
    ${data.failures.length ? null : html`<p class="empty">No failures in this window, ${many(Number(attempts))} attempts covered.</p>`}
    <div class="plots">
      <div class="card"><${Stacked} title="Failures by category" data=${{ ...range, series: data.failures }} link=${(/** @type {string} */ name) => `/tasks?category=${encodeURIComponent(name)}&since=${since}`} /></div>
      <div class="card"><${Heat} rows=${data.retry_success} /></div>
      <div class="card"><${Healing} title="How long it took to heal" data=${data.heal} /></div>
      <div class="card"><${Bars} title="Failures before a success" sub=${`n=${many(data.retries_to_success.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.n, 0))}`} rows=${data.retries_to_success.map((/** @type {any} */ each) => [each.retries === 9 ? "9 and more" : String(each.retries), each.n])} /></div>
      <div class="card"><${Stacked} title=${hasCost ? "Cost by phase" : "Tokens by phase"} unit=${hasCost ? "$" : ""} words=${hasCost ? money : many} value=${(/** @type {any} */ each) => (hasCost ? each.cost : each.tokens)} line=${hasCost ? data.budget.daily_cost : data.budget.daily_tokens} data=${{ ...range, series: data.cost.map((/** @type {any} */ each) => ({ ...each, name: each.phase })) }} short=${(/** @type {string} */ name) => name} /></div>
      <div class="card"><${Bars} title="Hours waited, by cause" sub="planned backoff, questions open, accounts held" rows=${waits(data.waited)} words=${(/** @type {number} */ hours) => (hours < 1 ? `${Math.round(hours * 60)}m` : `${hours.toFixed(1)}h`)} /></div>
      <div class="card"><${Stacked} title="People called, by what had failed" data=${{ ...range, series: data.called }} /></div>
      <div class="card" style=${{ gridColumn: "1 / -1" }}><${Prints} data=${data} /></div></div>`;
}
/** @param {any[]} waited @returns {[string, number][]} */
function waits(waited) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const each of waited) { const name = each.cause === "backoff" ? `backoff ${(each.of || "").split("/")[0]}` : each.cause === "person" ? "a person" : `held ${each.of || ""}`; found.set(name, (found.get(name) || 0) + each.hours); }
  return [...found].sort((one, two) => two[1] - one[1]).slice(0, 9);
}
/** Retry success: category by retry. @param {{rows: any[]}} props */
function Heat({ rows }) {
  /** @type {Map<string, Map<number, [number, number]>>} */
  const cells = new Map();
  for (const each of rows) {
    const line = cells.get(each.category) || cells.set(each.category, new Map()).get(each.category);
    const at = Math.min(each.attempt, 5), was = (line && line.get(at)) || [0, 0];
    if (line) line.set(at, [was[0] + each.n, was[1] + each.cured]);
  }
  const names = [...cells.keys()].sort();
  const cell = (/** @type {[number, number] | undefined} */ each) => {
    if (!each) return html`<td class="h0"></td>`;
    const rate = each[1] / each[0];
    return html`<td class=${each[0] < 5 ? "h0" : `h${1 + Math.min(4, Math.floor(rate * 5))}`} title=${`${each[1]} of ${each[0]}`}>${Math.round(100 * rate)} % <span class="dim">n=${each[0]}</span></td>`;
  };
  const total = rows.reduce((sum, each) => sum + each.n, 0);
  return html`<figure class="plot heat"><h3>How often a retry helped</h3><div class="sub">category × retry, n=${many(total)}; fewer than 5 cases in grey</div>${names.length ? html`<div class="scroll"><table><thead><tr><th></th>${[1, 2, 3, 4, 5].map((n) => html`<th style=${{ textAlign: "center" }}>${n === 5 ? "5th+" : ["1st", "2nd", "3rd", "4th"][n - 1]}</th>`)}</tr></thead><tbody>${names.map((name) => html`<tr><td><a href=${`/tasks?category=${encodeURIComponent(name)}`}>${name}</a></td>${[1, 2, 3, 4, 5].map((n) => cell((cells.get(name) || new Map()).get(n)))}</tr>`)}</tbody></table></div>` : html`<p class="empty">No retries in this window.</p>`}</figure>`;
}
/** @param {{data: any}} props */
function Prints({ data }) {
  const since = ms(data.since), until = ms(data.until);
  return html`<figure class="plot"><h3>Most common fingerprints</h3><div class="sub">failures that are the same failure</div>${data.fingerprints.length ? html`<div class="scroll"><table><thead><tr><th>fingerprint</th><th>when</th><th class="num">times</th><th class="num">tasks</th><th>what</th><th>advice that cured</th><th></th></tr></thead><tbody>${data.fingerprints.map((/** @type {any} */ each) => html`<tr><td><${Fingerprint} fp=${each.fingerprint} /></td><td><${Spark} hours=${each.hours} since=${since} until=${until} /></td><td class="num">${many(each.n)}</td><td class="num">${each.tasks ?? ""}</td><td class="why">${each.summary || ""}</td><td class="why">${each.best || ""}</td><td>${each.back_after_days ? html`<b class="fail">BACK after ${each.back_after_days}d</b>` : each.new ? html`<b class="you">NEW</b>` : null}</td></tr>`)}</tbody></table></div>` : html`<p class="empty">None in this window.</p>`}</figure>`;
}
