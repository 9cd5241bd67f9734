// The page: who is there, where one is, and the frame around every view.
import { live, post, session } from "./api.js";
import { Ask } from "./ask.js";
import { bound, DialogHost, go, html, render, Toast, useEffect, useKey, useResource, useRoute, useState, useTick, copy, capacity } from "./parts.js";
import { clock, clockWords, zone } from "./time.js";

/** Views are loaded when they are first opened. @type {[RegExp, string, string][]} */
const ROUTES = [
  [/^\/$/, "now", "Now"],
  [/^\/tasks$/, "tasks", "Tasks"],
  [/^\/tasks\/([^/]+)\/attempts\/(\d+)\/log$/, "log", "Log"],
  [/^\/tasks\/([^/]+)(?:\/attempts\/(\d+))?$/, "task", "Task"],
  [/^\/fleet$/, "fleet", "Fleet"],
  [/^\/incidents$/, "incidents", "Incidents"],
  [/^\/incidents\/([^/]+)$/, "incident", "Incident"],
  [/^\/breakers\/(.+)$/, "breaker", "Breaker"],
  [/^\/fingerprints$/, "fingerprints", "Fingerprints"],
  [/^\/fingerprints\/(.+)$/, "fingerprint", "Fingerprint"],
  [/^\/insights$/, "insights", "Insights"],
  [/^\/inbox(?:\/([^/]+))?$/, "inbox", "Inbox"],
  [/^\/events$/, "events", "Events"],
  [/^\/captures(?:\/([^/]+))?$/, "captures", "Captures"],
  [/^\/candidates(?:\/([^/]+))?$/, "candidates", "Candidates"],
  [/^\/workorders\/([^/]+)$/, "workorder", "Workorder"],
  [/^\/board(?:\/([^/]+))?$/, "board", "Board"],
];
const FILES = /** @type {Record<string, string>} */ ({ workorder: "captures", incident: "incidents", breaker: "incidents", fingerprint: "fingerprints" });
const NAV = [["/", "Now"], ["/tasks", "Tasks"], ["/fleet", "Fleet"], ["/insights", "Insights"], ["/incidents", "Incidents"], ["/board", "Board"], ["/inbox", "Inbox"], ["/events", "Events"]];
/** @type {Map<string, any>} */
const views = new Map();

function theme() {
  const chosen = localStorage.getItem("medbay.theme");
  return chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
const paint = () => { document.documentElement.dataset.theme = theme(); dispatchEvent(new Event("medbay:theme")); };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
paint();
function toggleTheme() {
  localStorage.setItem("medbay.theme", theme() === "dark" ? "light" : "dark");
  paint();
}

/** The stream of events: live, coming back, or away. */
function Chip() {
  const now = useTick();
  const [, again] = useState(0);
  useEffect(() => { const changed = () => again((n) => n + 1); live.watchers.add(changed); return () => { live.watchers.delete(changed); }; }, []);
  const { state, since, next } = live.state;
  const as = clockWords(since + clock.offset);
  if (state === "live") return html`<span class="chip done" role="status">● live</span>`;
  if (state === "again") return html`<span class="chip wait" role="status">◌ reconnecting, shown as of ${as}</span>`;
  return html`<span class="chip fail" role="status">✕ daemon not reachable since ${as}, next try ${Math.max(0, Math.ceil((next - (now - clock.offset)) / 1000))}s</span>`;
}
/** Screen readers hear a summary, at most every ten seconds. @param {{words: string}} props */
function Heard({ words }) {
  const [said, setSaid] = useState(words);
  useEffect(() => { const timer = setTimeout(() => setSaid(words), 10000); return () => clearTimeout(timer); }, [words]);
  return html`<div class="sr" aria-live="polite">${said}</div>`;
}
function Sheet({ close }) {
  useKey("Escape", close, "");
  const seen = new Set();
  const keys = bound.filter((each) => each.words && !seen.has(each.key) && seen.add(each.key));
  return html`<dialog open class="sheet" aria-label="keys" style=${{ position: "fixed", top: "10vh", zIndex: 80 }}><h2>Keys</h2>
    <div class="keys">${keys.map((each) => html`<kbd>${each.key}</kbd><span>${each.words}</span>`)}</div>
    <div class="ends"><button class="first" autofocus onClick=${close}>Close</button></div></dialog>`;
}
function Frame() {
  const url = useRoute();
  const [sheet, setSheet] = useState(false);
  const [, again] = useState(0);
  const [broken, setBroken] = useState("");
  const overview = useResource("/api/now");
  const found = ROUTES.find(([pattern]) => pattern.test(url.pathname));
  const name = found ? found[1] : "missing";
  const parts = found ? (found[0].exec(url.pathname) || []).slice(1).map((each) => each && decodeURIComponent(each)) : [];
  useEffect(() => zone.watch(() => again((n) => n + 1)), []);
  useEffect(() => {
    if (views.has(name)) return;
    import(`./views/${FILES[name] || name}.js`).then((made) => { views.set(name, made[name[0].toUpperCase() + name.slice(1)]); setBroken(""); again((n) => n + 1); }, (error) => setBroken(String(error)));
  }, [name]);
  useEffect(() => { document.title = `${parts[0] ? `${parts[0]} · ` : ""}${found ? found[2] : "Not found"} · Medbay`; }, [url.pathname]);
  for (const [key, path, words] of [["g n", "/", "Now"], ["g l", "/tasks", "Tasks"], ["g f", "/fleet", "Fleet"], ["g i", "/insights", "Insights"], ["g b", "/board", "Board"], ["g x", "/inbox", "Inbox"], ["g e", "/events", "Events"]]) useKey(key, () => go(path), words);
  useKey("t", toggleTheme, "theme");
  useKey("z", () => zone.toggle(), "local time or UTC");
  useKey("y", () => copy(location.href), "copy the link");
  useKey("?", () => setSheet((was) => !was), "this sheet");
  useKey("u", () => go(url.pathname.split("/").slice(0, -1).join("/").replace(/\/attempts$/, "") || "/"), "up");
  useKey("/", () => { const box = /** @type {HTMLElement | null} */ (document.querySelector("[data-filter]")); if (box) box.focus(); else go("/tasks"); }, "filter");
  const data = overview.data;
  if (data) Object.assign(capacity, data.slots);
  const counts = data ? data.counts : { asked: 0, run: 0, wait: 0 };
  const View = views.get(name);
  return html`<header class="head"><a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#1457b8"/><path d="M13 6h6v7h7v6h-7v7h-6v-7H6v-6h7z" fill="#fff"/></svg>MEDBAY</a>
    <nav class="nav" aria-label="views">${NAV.map(([path, words]) => html`<a href=${path} aria-current=${(path === "/" ? url.pathname === "/" : url.pathname.startsWith(path)) ? "page" : undefined}>${words}${words === "Inbox" && counts.asked ? html` <span class="badge">${counts.asked}</span>` : null}</a>`)}</nav>
    <div class="right"><${Chip} /><button class="plain chip" title="switch between local time and UTC (z)" onClick=${() => zone.toggle()}>${zone.words}</button>
    <button class="plain" title="light or dark (t)" aria-label="light or dark" onClick=${toggleTheme}>◐</button><button class="plain" aria-label="keys" title="keys (?)" onClick=${() => setSheet(true)}>?</button></div></header>
    <main id="main" tabindex="-1">${data && !data.engines ? html`<div class="banner" role="alert">No engine runs: nothing is started until <code>medbay up</code> runs on this store.</div>` : null}
    ${broken ? html`<div class="error" role="alert">This view could not be loaded (${broken}). <button onClick=${() => location.reload()}>Reload</button></div>` : null}
    ${View ? html`<${View} key=${name} parts=${parts} url=${url} overview=${overview} />` : null}</main>
    <${Heard} words=${`${counts.asked} need you, ${counts.run} running, ${counts.wait} waiting`} />
    ${sheet ? html`<${Sheet} close=${() => setSheet(false)} />` : null}<${DialogHost} /><${Toast} />`;
}
/** @param {{error: any}} props */
function Door({ error }) {
  const enter = (/** @type {any} */ event) => { event.preventDefault(); location.hash = `token=${event.target.elements.token.value.trim()}`; location.reload(); };
  return html`<main><div class="card" style=${{ maxWidth: "34rem", margin: "12vh auto" }}><h1>Medbay needs your token</h1>
    <p class="dim" style=${{ margin: ".6rem 0" }}>${error && error.status !== 401 ? `${error.message}. ${error.hint}` : "Open the link that medbay up or medbay serve printed, or type the token of .medbay/web-token here."}</p>
    <form class="row" onSubmit=${enter}><input name="token" type="password" aria-label="token" autocomplete="off" class="grow" required /><button class="first">Open</button></form></div></main>`;
}

document.addEventListener("click", (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest("a[href^='/']");
  if (!link || answerLink || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button || link.hasAttribute("download")) return;
  event.preventDefault();
  go(/** @type {HTMLAnchorElement} */ (link).getAttribute("href") || "/");
});

/** The one question that the link of a message opens, for whoever has no token. Reading changes nothing; the button does. @param {{link: string}} props */
function Linked({ link }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [answered, setAnswered] = useState(/** @type {any} */ (null));
  const load = () => { setError(null); post("/api/link", { link }).then(setFound, setError); };
  useEffect(load, [link]);
  const send = async (/** @type {string} */ option, /** @type {string} */ note) => { const made = await post("/api/link/answer", { link, option, note }); setAnswered(made); return made; };
  return html`<header class="head"><span class="brand">MEDBAY</span></header><main id="main"><h1 class="sr">Question</h1>
    ${answered ? html`<div class="card section" role="status"><h2 class="done">✓ ${answered.answer}</h2><p>Recorded. You may close this page; its link is used up.</p></div>`
      : error ? html`<div class="card section"><h2>${error.message}</h2><p class="dim">${error.hint}</p>${error.status && error.status < 500 ? html`<p><a class="button" href="/inbox">Open the inbox with a token</a></p>` : html`<button onClick=${load}>Retry</button>`}</div>`
      : found ? html`<${Ask} question=${found.question} whole at send=${send} />` : html`<p class="boot" role="status">loading</p>`}</main><${DialogHost} /><${Toast} />`;
}

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
const answerLink = new URLSearchParams(location.hash.slice(1)).get("answer");
session.lost = () => render(html`<${Door} error=${null} />`, root);
if (answerLink) { root.textContent = ""; render(html`<${Linked} link=${answerLink} />`, root); } else session.begin().then(() => {
  root.textContent = "";
  live.start();
  render(html`<${Frame} />`, root);
}, (error) => { root.textContent = ""; render(html`<${Door} error=${error} />`, root); });
