/** The frame of every screen: top bar, what is wrong with the connection, help, and which screen an address names. */
import { html, useEffect, useRef, useState } from "./core/html.js";
import { connection } from "./core/api.js";
import { clock } from "./core/format.js";
import { useKeys } from "./core/keys.js";
import { address, go, useRoute } from "./core/router.js";
import { useStore } from "./core/store.js";
import { nextTheme, theme } from "./core/theme.js";
import { liveness } from "./core/liveness.js";
import { Help } from "./help.js";
import { Sessions } from "./sessions/sessions.js";
import { Trace } from "./trace/trace.js";
import { Fault } from "./parts/fault.js";
import { Later } from "./parts/later.js";
import { Safely } from "./parts/safely.js";
import { useNotifications } from "./core/notify.js";
import { useProjects } from "./core/projects.js";

const loadFleet = () => import("./fleet/fleet.js").then((module) => module.Fleet);

const THEMES = { system: "◑", light: "○", dark: "●" };

export function Shell() {
  const route = useRoute();
  const { project, rest } = scopeOf(route.path);
  const away = useStore(connection);
  const choice = useStore(theme);
  const moving = useStore(liveness);
  const [help, setHelp] = useState(false);
  const gPressed = useRef(0);
  const main = useRef(null);
  const { projects: served, fault } = useProjects();
  const projects = served ?? [];
  // Which database an address means is only known with the list of them: asking before could show another one's sessions.
  const ready = served !== null || project !== null;
  const chosen = project ?? (projects.length > 1 ? projects[0].name : null);
  const screen = rest[0] === "s" && rest[1] ? "trace" : rest[0] === "fleet" ? "fleet" : "sessions";
  const scope = (segments) => (chosen && projects.length > 1 ? ["p", chosen, ...segments] : segments);

  useNotifications(chosen, ready, (id) => address(scope(["s", id])));

  const afterG = (target) => () => {
    if (Date.now() - gPressed.current > 1200) return false;
    gPressed.current = 0;
    go(target);
    return true;
  };
  useKeys({
    "?": () => setHelp(true),
    g: () => { gPressed.current = Date.now(); },
    s: afterG(address(scope([]))),
    f: afterG(address(["fleet"])),
    t: nextTheme,
    "/": () => {
      const field = document.querySelector("[data-filter]");
      field?.focus();
      field?.select();
      return Boolean(field);
    },
  });

  // After a change of screen a screen reader starts at its top, not where the old link was.
  const first = useRef(true);
  const place = `${screen}/${rest[1] ?? ""}`;
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [place]);

  return html`<div class="shell">
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
    <header class="topbar">
      <a class="brand" href=${address(scope([]))}>agent-workflow</a>
      <nav aria-label="Screens"><ul>
        <li><a href=${address(scope([]))} aria-current=${screen === "sessions" ? "page" : screen === "trace" ? "true" : undefined}>Sessions</a></li>
        <li><a href=${address(["fleet"])} aria-current=${screen === "fleet" ? "page" : undefined}>Fleet</a></li>
      </ul></nav>
      ${projects.length > 1 && screen !== "fleet" && html`<label class="small soft">project ${" "}
        <select value=${chosen} onChange=${(event) => go(address(["p", event.currentTarget.value]))}>
          ${projects.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}${one.available === false ? " (unavailable)" : ""}</option>`)}
        </select></label>`}
      <div class="right">
        <span class=${`pulse ${away.state === "away" ? "away" : moving ? "live" : ""}`}><span>${away.state === "away" ? "no answer" : moving ? "live" : "up to date"}</span></span>
        <button type="button" onClick=${nextTheme} title="theme: system, light, dark (t)" aria-label=${`theme: ${choice}`}><span aria-hidden="true">${THEMES[choice]}</span><span class="theme-word"> ${choice}</span></button>
        <button type="button" onClick=${() => setHelp(true)} title="keys and marks (?)" aria-label="help">?</button>
      </div>
    </header>
    <div aria-live="polite">
      ${away.state === "away" && html`<div class="banner"><p>The server has not answered since ${clock(away.since)}. What is shown is from then; the page keeps trying and catches up by itself. Start it again with <code>agent-workflow ui</code>.</p></div>`}
    </div>
    <main id="main" tabindex="-1" ref=${main}>
      ${!ready && screen !== "fleet" && html`<${Fault} fault=${fault} />`}
      ${!ready && !fault && screen !== "fleet" && away.state === "ok" && html`<p class="empty">Reading …</p>`}
      ${ready && screen === "sessions" && html`<${Safely} key=${`list ${chosen ?? ""}`}><${Sessions} project=${chosen} route=${route} scope=${scope} /><//>`}
      ${ready && screen === "trace" && html`<${Safely} key=${`trace ${chosen ?? ""}/${rest[1]}`}><${Trace} project=${chosen} adwId=${rest[1]} selection=${rest.slice(2)} route=${route} scope=${scope} /><//>`}
      ${screen === "fleet" && html`<${Safely} key=${`fleet ${rest[1] ?? ""}`}><${Later} load=${loadFleet} with=${{ place: rest.slice(1), route }} /><//>`}
    </main>
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}
  </div>`;
}

function scopeOf(path) {
  return path[0] === "p" && path[1] ? { project: path[1], rest: path.slice(2) } : { project: null, rest: path };
}
