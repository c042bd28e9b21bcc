/** Every run of the index, newest first. */
import { html, useEffect, useRef, useState } from "../core/html.js";
import { count, duration, moment } from "../core/format.js";
import { useKeys } from "../core/keys.js";
import { usePolled } from "../core/polling.js";
import { readRuns } from "../core/fleet-endpoints.js";
import { address, setQuery } from "../core/router.js";
import { oneLine, visible } from "../core/text.js";
import { Fault } from "../parts/fault.js";
import { SearchBox } from "../parts/search-box.js";
import { Time } from "../parts/values.js";
import { ACTIVE, RunLink, RunStatus, traceAddress, who } from "./words.js";

const PAGE = 200;
const FIRST = { from: null };
const FILTERS = ["q", "state", "executor", "model", "category"];

export function Runs({ route }) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? ""]));
  const offset = Math.max(0, Number(route.query.get("from")) || 0);
  const { data, fault } = usePolled(`runs/${JSON.stringify(filters)}/${offset}`, (signal) => readRuns({ ...filters, limit: PAGE, offset }, signal), () => 3000);
  const rows = data?.rows ?? [];
  const active = useRef(-1);
  const [said, setSaid] = useState("");
  // The row of the focus, wherever it came from and whatever came in above it.
  const at = () => Number(document.activeElement?.closest("[data-run]")?.dataset.run ?? active.current);
  const focus = (index) => {
    active.current = Math.max(0, Math.min(rows.length - 1, index));
    const link = document.querySelector(`[data-run="${active.current}"] a`);
    link?.focus();
    link?.scrollIntoView({ block: "nearest" });
  };
  const seek = (step) => {
    for (let index = at() + step; index >= 0 && index < rows.length; index += step) {
      if (rows[index].index_state === "error" || rows[index].durable_status === "failed") return focus(index);
    }
    return setSaid("no further failed run here");
  };
  useKeys({ j: () => focus(at() + 1), k: () => focus(at() - 1), n: () => seek(1), N: () => seek(-1), Home: () => focus(0), End: () => focus(rows.length - 1) });
  useEffect(() => {
    active.current = -1;
  }, [offset, JSON.stringify(filters)]);
  return html`<div class="toolbar" role="search" aria-label="Filter the runs">
      <${SearchBox} name="q" value=${filters.q} label="Search runs" placeholder="Search  ( / )" also=${FIRST} filter />
      <${SearchBox} name="state" value=${filters.state} label="State" placeholder="state" also=${FIRST} className="narrow" />
      <${SearchBox} name="executor" value=${filters.executor} label="Executor" placeholder="executor" also=${FIRST} className="narrow" />
      <${SearchBox} name="model" value=${filters.model} label="Model" placeholder="model" also=${FIRST} className="narrow" />
      ${FILTERS.some((name) => filters[name]) && html`<button type="button" onClick=${() => setQuery(Object.fromEntries([...FILTERS, "from"].map((name) => [name, null])))}>clear filters</button>`}
      <span class="soft small num push" role="status">${visible(said)} ${data ? `${count(offset + (rows.length ? 1 : 0))}–${count(offset + rows.length)}${data.has_more ? " of more" : ""}` : ""}</span>
    </div>
    <${Fault} fault=${fault} stale=${Boolean(data)} />
    ${data && rows.length === 0 && html`<div class="empty"><h2>No run matches</h2></div>`}
    ${data?.has_more && rows.length < PAGE && html`<p class="note small">There are more runs than are looked through, the newest 10,000. A state, an executor or a model brings older ones in.</p>`}
    ${rows.length > 0 && html`<div class="scrolls fleet-part" tabindex="0" role="group" aria-label="Runs, scrollable"><table class="runs"><thead><tr><th scope="col">status</th><th scope="col">run</th><th scope="col">executor</th><th scope="col">outcome</th><th scope="col">evidence</th><th scope="col" class="num">incidents</th><th scope="col" class="num">took</th><th scope="col" class="num">began</th><th scope="col">trace</th></tr></thead>
      <tbody>${rows.map((run, index) => html`<tr key=${run.session_id} data-run=${index}>
        <td><${RunStatus} run=${run} /></td>
        <td><${RunLink} id=${run.session_id} query=${route.query} /><div class="small soft wrap">${[run.agent_class, run.ticket_id, run.workflow_id, run.storage_class === "archive" && "archived"].filter(Boolean).map(visible).join(" · ")}</div>${run.index_error && html`<div class="small tone-bad wrap">${oneLine(run.index_error, 200)}</div>`}</td>
        <td>${who(run)}</td>
        <td>${visible((run.attempt_classification ?? "").replaceAll("-", " ")) || html`<span class="soft">–</span>`}${run.failure_category && html`<div class="small tone-bad">${visible(run.failure_category.replaceAll("_", " "))}</div>`}</td>
        <td>${run.evidence_complete ? html`<span class="tone-good" title="sealed, and every file matches its digest">✓ sealed</span>` : html`<span class="soft">not sealed</span>`}</td>
        <td class="num">${run.open_incident_count ? html`<span class="tone-bad">${run.open_incident_count} open</span>` : html`<span class="soft">–</span>`}${run.pending_permission_count ? html`<div class="tone-wait small">${run.pending_permission_count} waiting</div>` : null}</td>
        <td class="num">${tookOf(run)}</td>
        <td class="num"><${Time} at=${run.started_at ?? run.created_at} /></td>
        <td>${run.trace ? html`<a href=${traceAddress(run.trace)}>open</a>` : html`<span class="soft">${run.trace_state?.replaceAll("_", " ") ?? "–"}</span>`}</td>
      </tr>`)}</tbody></table></div>
      <nav class="toolbar" aria-label="Pages">${offset > 0 && html`<a href=${address(["fleet", "runs"], { ...filters, from: Math.max(0, offset - PAGE) || "" })}>newer</a>`} ${data.has_more && rows.length === PAGE && html`<a href=${address(["fleet", "runs"], { ...filters, from: offset + PAGE })}>older</a>`}</nav>`}`;
}

export function tookOf(run) {
  const from = moment(run.started_at ?? run.created_at);
  const to = moment(run.finished_at);
  if (from == null || to == null || to < from || ACTIVE.has(run.durable_status)) return html`<span class="soft">–</span>`;
  return duration(to - from);
}
