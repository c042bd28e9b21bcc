/** Every run of this machine, from the evidence index. */
import { html, useEffect } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { usePolled } from "../core/polling.js";
import { readStatus } from "../core/fleet-endpoints.js";
import { address, go } from "../core/router.js";
import { Fault } from "../parts/fault.js";
import { Freshness } from "./freshness.js";
import { IndexHealth } from "./index-health.js";
import { Overview } from "./overview.js";
import { RunDetail } from "./run-detail.js";
import { Runs } from "./runs.js";
import { Workflows } from "./workflows.js";

const TABS = [
  ["", "Overview"],
  ["runs", "Runs"],
  ["workflows", "Workflows"],
  ["index", "Index"],
];

export function Fleet({ place, route }) {
  const { data: status, fault } = usePolled("fleet-status", readStatus, () => 5000);
  const tab = place[0] ?? "";
  useEffect(() => {
    document.title = `${place[0] === "run" ? place[1] : "Fleet"} · agent-workflow`;
  }, [place[0], place[1]]);
  useKeys({
    Escape: () => {
      if (place[0] === "run") go(address(["fleet", "runs"], route.query));
      else if (place[1]) go(address(["fleet", place[0]]));
      else if (tab) go(address(["fleet"]));
      else return false;
      return true;
    },
  });
  const missing = status && !status.exists;
  return html`<div class="fleet">
    <div class="sessions-head"><h1>Fleet</h1>
      <nav aria-label="Fleet"><ul class="tabs">${TABS.map(([name, label]) => html`<li key=${name}><a href=${address(["fleet", name].filter(Boolean))} aria-current=${tab === name || (tab === "run" && name === "runs") ? "page" : undefined}>${label}</a></li>`)}</ul></nav>
      <${Freshness} status=${status} />
    </div>
    <${Fault} fault=${fault} stale=${Boolean(status)} />
    ${missing
      ? html`<div class="empty"><h2>There is no index yet</h2><p>The fleet is read from the evidence index. Make it with <code>agent-workflow index rebuild</code>; the page shows it as soon as it is there.</p></div>`
      : !status && !fault ? html`<p class="empty">Reading the index …</p>`
      : html`${tab === "" && html`<${Overview} route=${route} />`}
        ${tab === "runs" && html`<${Runs} route=${route} />`}
        ${tab === "run" && place[1] && html`<${RunDetail} key=${place[1]} id=${place[1]} route=${route} />`}
        ${tab === "workflows" && html`<${Workflows} chosen=${place[1]} />`}
        ${tab === "index" && html`<${IndexHealth} status=${status} />`}`}
  </div>`;
}
