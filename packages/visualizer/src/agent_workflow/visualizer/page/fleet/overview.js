/** What runs, what waits, what is open, what it costs, how well it goes. */
import { html, useMemo } from "../core/html.js";
import { count, duration, money, percent, plural } from "../core/format.js";
import { usePolled, useNow } from "../core/polling.js";
import { readAttention, readOutcomes, readRuns, readSpend } from "../core/fleet-endpoints.js";
import { address, setQuery } from "../core/router.js";
import { visible } from "../core/text.js";
import { Chart } from "../parts/chart.js";
import { Fault } from "../parts/fault.js";
import { Age } from "../parts/values.js";
import { ACTIVE, RunLink, RunStatus, traceAddress, who } from "./words.js";

const WINDOWS = ["24h", "7d", "30d", "90d", "3650d"];
const WINDOW_WORDS = { "24h": "day", "7d": "7 days", "30d": "30 days", "90d": "90 days", "3650d": "all time" };

export function Overview({ route }) {
  const since = WINDOWS.includes(route.query.get("since")) ? route.query.get("since") : "30d";
  const now = useNow(5000);
  const attention = usePolled("attention", readAttention, () => 5000);
  const active = usePolled("active", readActive, () => 6000);
  const spend = usePolled(`spend/${since}`, (signal) => readSpend(since, signal), () => 10_000);
  const outcomes = usePolled(`outcomes/${since}`, (signal) => readOutcomes(since, signal), () => 10_000);
  const running = active.data ?? [];
  const permissions = attention.data?.permissions ?? [];
  const incidents = attention.data?.incidents ?? [];
  return html`<${Fault} fault=${attention.fault ?? active.fault} stale=${Boolean(attention.data)} />
    <div class="fleet-grid">
      <section class="fleet-part" aria-label="Not ended"><h2>Not ended <span class="soft small num">${active.data ? count(running.length) : ""}</span></h2>
        ${active.data && (running.length === 0 ? html`<p class="soft">Nothing runs.</p>` : html`<div class="scrolls short" tabindex="0" role="group" aria-label="Runs that have not ended, scrollable"><table><thead><tr><th scope="col">status</th><th scope="col">run</th><th scope="col" class="c-less">executor</th><th scope="col" class="num">began</th></tr></thead>
          <tbody>${running.map((run) => html`<tr key=${run.session_id}><td><${RunStatus} run=${run} /></td><td><${RunLink} id=${run.session_id} />${run.trace && html`<div class="small"><a href=${traceAddress(run.trace)}>open its trace</a></div>`}</td><td class="c-less">${who(run)}</td><td class="num"><${Age} at=${run.started_at ?? run.created_at} now=${now} /></td></tr>`)}</tbody></table></div>
          <p class="small soft">As the evidence says it. Whether a process still lives is told by a run's trace; <code>agent-workflow supervisor once</code> looks at all of them.</p>`)}
      </section>
      <section class="fleet-part" aria-label="Waiting for a person"><h2>Waiting for a person <span class="soft small num">${attention.data ? count(permissions.length) : ""}</span></h2>
        ${attention.data && (permissions.length === 0 ? html`<p class="soft">No permission is pending.</p>` : html`<div class="scrolls short" tabindex="0" role="group" aria-label="Pending permissions, scrollable"><table><thead><tr><th scope="col">run</th><th scope="col">wants</th><th scope="col" class="num">since</th></tr></thead>
          <tbody>${permissions.map((one) => html`<tr key=${`${one.session_id}/${one.event_id}`}><td><${RunLink} id=${one.session_id} /></td><td class="wrap">${visible(one.operation)} <span class="soft">on ${visible(one.resource_class)}</span>${one.target && html`<div class="mono wrap small">${visible(one.target)}</div>`}${one.requested_access && html`<div class="small soft">${visible(one.requested_access)}</div>`}</td><td class="num"><${Age} at=${one.recorded_at} now=${now} /></td></tr>`)}</tbody></table></div>`)}
      </section>
      <section class="fleet-part" aria-label="Open incidents"><h2>Open incidents <span class="soft small num">${attention.data ? count(incidents.length) : ""}</span></h2>
        ${attention.data && (incidents.length === 0 ? html`<p class="soft">No incident is open.</p>` : html`<div class="scrolls short" tabindex="0" role="group" aria-label="Open incidents, scrollable"><table><thead><tr><th scope="col">run</th><th scope="col">what</th><th scope="col" class="c-less">severity</th><th scope="col" class="num">since</th></tr></thead>
          <tbody>${incidents.map((one) => html`<tr key=${`${one.session_id}/${one.incident_id}`}><td><${RunLink} id=${one.session_id} /></td><td class="wrap">${visible((one.category ?? "").replaceAll("_", " "))}<div class="small soft">${visible(one.summary)}</div></td><td class=${one.severity === "high" || one.severity === "critical" ? "tone-bad c-less" : "c-less"}>${visible(one.severity)}</td><td class="num"><${Age} at=${one.recorded_at} now=${now} /></td></tr>`)}</tbody></table></div>`)}
      </section>
    </div>
    <div class="toolbar" role="group" aria-label="Time span"><span class="soft">Over the last</span>${WINDOWS.map((name) => html`<button type="button" key=${name} aria-pressed=${since === name ? "true" : "false"} onClick=${() => setQuery({ since: name })}>${WINDOW_WORDS[name]}</button>`)}</div>
    <${Fault} fault=${spend.fault ?? outcomes.fault} stale=${Boolean(spend.data)} />
    ${spend.data && html`<${Spend} rows=${spend.data.rows} />`}
    ${outcomes.data && html`<${Outcomes} data=${outcomes.data} />`}`;
}

export const OPEN_STATES = ["running", "interruption_requested", "launched", "prepared", "waiting"];

/** The index filters by one state a question. */
async function readActive(signal) {
  const replies = await Promise.all(OPEN_STATES.map((state) => readRuns({ state, limit: 100 }, signal)));
  const runs = replies.flatMap((reply) => reply.rows).filter((run) => ACTIVE.has(run.durable_status));
  return runs.sort((left, right) => ((left.started_at ?? left.created_at ?? "") < (right.started_at ?? right.created_at ?? "") ? 1 : -1));
}

/** Every day of the span, the empty ones too: bars stand where their day is. */
function everyDay(days) {
  if (days.length < 2) return days;
  const all = [];
  const last = Date.parse(`${days[days.length - 1]}T12:00:00Z`);
  for (let at = Date.parse(`${days[0]}T12:00:00Z`); at <= last && all.length < 2000; at += 86_400_000) all.push(new Date(at).toISOString().slice(0, 10));
  return all;
}

function Spend({ rows }) {
  const { x, series, priced } = useMemo(() => spendSeries(rows), [rows]);
  const groups = useMemo(() => grouped(rows), [rows]);
  const billed = rows.reduce((sum, row) => sum + row.provider_billed_sample_count, 0);
  const estimated = rows.reduce((sum, row) => sum + row.local_estimated_sample_count, 0);
  return html`<section class="fleet-part" aria-label="Spend"><h2>Spend</h2>
    <p class="small soft">What providers billed and what was estimated on this machine are different kinds of money, and are never added up. What a subscription covers is among the estimates, at list price: the index does not tell it apart.${billed + estimated === 0 ? " No run recorded either." : ` ${plural(billed, "billed sample")}, ${plural(estimated, "estimated sample")}.`}</p>
    ${priced && html`<${Chart} title="Spend by day" summary="US dollars" x=${x} series=${series} format=${(value) => money(value)} bars />`}
    <div class="scrolls" tabindex="0" role="group" aria-label="Spend by executor and model, scrollable"><table><thead><tr><th scope="col">executor</th><th scope="col" class="num">runs</th><th scope="col" class="num">input</th><th scope="col" class="num">output</th><th scope="col" class="num">billed</th><th scope="col" class="num">of</th><th scope="col" class="num">estimated</th><th scope="col" class="num">of</th></tr></thead>
      <tbody>${groups.map((row) => html`<tr key=${row.key}><td>${who(row)}</td><td class="num">${count(row.run_count)}</td><td class="num">${number(row.input_tokens)}</td><td class="num">${number(row.output_tokens)}</td>
        <td class="num">${paid(row.provider_billed_cost, row.currency)}</td><td class="num soft">${plural(row.provider_billed_sample_count, "sample")}</td><td class="num">${row.local_estimated_cost == null ? "" : "≈"}${paid(row.local_estimated_cost, row.currency)}</td><td class="num soft">${plural(row.local_estimated_sample_count, "sample")}</td></tr>`)}
        ${groups.length === 0 && html`<tr><td colspan="8" class="soft">No run in this span.</td></tr>`}</tbody></table></div></section>`;
}

function paid(value, currency) {
  if (value == null) return html`<span class="unknown">unknown</span>`;
  if (!currency) return html`<span title="the currency was not recorded">${value.toFixed(4)} <span class="unknown">currency unknown</span></span>`;
  return money(value, currency);
}

function number(value) {
  return value == null ? html`<span class="unknown">unknown</span>` : count(value);
}

/** Only dollars are drawn: two currencies share no axis. */
function spendSeries(rows) {
  const days = everyDay([...new Set(rows.map((row) => row.day))].filter(Boolean).sort());
  const sums = (name) => days.map((day) => {
    const found = rows.filter((row) => row.day === day && row.currency === "USD" && row[name] != null);
    return found.length ? found.reduce((sum, row) => sum + row[name], 0) : null;
  });
  const billed = sums("provider_billed_cost");
  const estimated = sums("local_estimated_cost");
  return {
    x: days.map((day) => Date.parse(`${day}T12:00:00Z`) / 1000),
    series: [{ label: "billed", values: billed, tone: "--live" }, { label: "estimated", values: estimated, tone: "--wait" }],
    priced: [...billed, ...estimated].some((value) => value != null),
  };
}

function grouped(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.executor, row.model, row.currency]);
    const group = groups.get(key) ?? { key, executor: row.executor, model: row.model, currency: row.currency, run_count: 0, input_tokens: null, output_tokens: null, provider_billed_cost: null, local_estimated_cost: null, provider_billed_sample_count: 0, local_estimated_sample_count: 0 };
    for (const name of ["run_count", "provider_billed_sample_count", "local_estimated_sample_count"]) group[name] += row[name];
    for (const name of ["input_tokens", "output_tokens", "provider_billed_cost", "local_estimated_cost"]) if (row[name] != null) group[name] = (group[name] ?? 0) + row[name];
    groups.set(key, group);
  }
  return [...groups.values()].sort((left, right) => (right.provider_billed_cost ?? 0) - (left.provider_billed_cost ?? 0) || right.run_count - left.run_count);
}

const GOOD = new Set(["completed", "success", "accepted", "reviewed"]);
const BAD = new Set(["failed", "fail", "error", "killed", "lost", "rejected", "timed_out"]);

function Outcomes({ data }) {
  const days = useMemo(() => {
    const known = new Map(data.days.filter((one) => one.day).map((one) => [one.day, one]));
    return everyDay([...known.keys()].sort()).map((day) => known.get(day) ?? { day, run_count: 0, statuses: {} });
  }, [data]);
  const x = useMemo(() => days.map(({ day }) => Date.parse(`${day}T12:00:00Z`) / 1000), [days]);
  const series = useMemo(() => {
    const tally = (words) => days.map(({ statuses }) => Object.entries(statuses).reduce((sum, [word, n]) => sum + (words.has(word) ? n : 0), 0) || null);
    return [{ label: "completed", values: tally(GOOD), tone: "--good" }, { label: "failed", values: tally(BAD), tone: "--bad" }];
  }, [days]);
  const total = days.reduce((sum, day) => sum + day.run_count, 0);
  return html`<section class="fleet-part" aria-label="Outcomes"><h2>Outcomes</h2>
    ${total > 0 && html`<${Chart} title="Runs by day" summary=${`${plural(total, "run")} on ${plural(data.days.length, "day")}`} x=${x} series=${series} format=${(value) => (Number.isInteger(value) ? count(value) : "")} bars />`}
    <div class="scrolls" tabindex="0" role="group" aria-label="Outcomes by executor and model, scrollable"><table><thead><tr><th scope="col">executor</th><th scope="col" class="num">runs</th><th scope="col" class="num">ended</th><th scope="col" class="num">completed</th><th scope="col" class="num">accepted</th><th scope="col" class="num" title="completed, of those that ended">success rate</th><th scope="col" class="num">half took less than</th><th scope="col" class="num">nine of ten less than</th></tr></thead>
      <tbody>${data.groups.map((row) => html`<tr key=${JSON.stringify([row.executor, row.model])}><td>${who(row)}</td><td class="num"><a href=${address(["fleet", "runs"], { executor: row.executor ?? "", model: row.model ?? "" })}>${count(row.run_count)}</a></td><td class="num">${count(row.ended_count)}</td><td class="num">${count(row.completed_count)}</td><td class="num">${count(row.accepted_count)}</td>
        <td class="num">${row.success_rate == null ? html`<span class="unknown">unknown</span>` : percent(row.success_rate)}</td><td class="num">${took(row.median_seconds)}</td><td class="num">${took(row.p90_seconds)}</td></tr>`)}
        ${data.groups.length === 0 && html`<tr><td colspan="8" class="soft">No run in this span.</td></tr>`}</tbody></table></div></section>`;
}

function took(seconds) {
  return seconds == null ? html`<span class="unknown">unknown</span>` : duration(seconds * 1000);
}
