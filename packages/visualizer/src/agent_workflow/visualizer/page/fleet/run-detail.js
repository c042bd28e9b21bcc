/** One run of the index: its life, its health, its evidence. */
import { html, useMemo } from "../core/html.js";
import { bytes, clock, count, duration, moment, money, plural } from "../core/format.js";
import { usePolled } from "../core/polling.js";
import { readRun, readRunHealth } from "../core/fleet-endpoints.js";
import { address } from "../core/router.js";
import { oneLine, visible } from "../core/text.js";
import { BINARY, CLOCK, Chart } from "../parts/chart.js";
import { CopyButton } from "../parts/copy-button.js";
import { Crumbs } from "../parts/crumbs.js";
import { Fault } from "../parts/fault.js";
import { Section } from "../parts/section.js";
import { StatusMark } from "../parts/status-mark.js";
import { Time } from "../parts/values.js";
import { tookOf } from "./runs.js";
import { VerifyButton } from "./verify-button.js";
import { RunLink, RunStatus, traceAddress } from "./words.js";

export function RunDetail({ id, route }) {
  const { data, fault } = usePolled(`run/${id}`, (signal) => readRun(id, signal), () => 3000);
  const health = usePolled(`health/${id}`, (signal) => readRunHealth(id, signal), () => 3000);
  const crumbs = html`<${Crumbs} steps=${[["Fleet", address(["fleet"])], ["Runs", address(["fleet", "runs"], route.query)], [visible(id), null]]} />`;
  if (!data) return html`${crumbs}<${Fault} fault=${fault} />${!fault && html`<p class="empty">Reading ${visible(id)} …</p>`}`;
  const { run } = data;
  const life = lifecycle(data.events);
  return html`${crumbs}<${Fault} fault=${fault} stale=${true} />
    <header class="summary">
      <div class="summary-title"><${RunStatus} run=${run} /><h2 class="mono wrap">${visible(run.session_id)} <${CopyButton} text=${run.session_id} what="run id" /></h2>
        ${run.trace && html`<a class="to-trace" href=${traceAddress(run.trace)}>open its trace</a>`}</div>
      ${noTrace(run)}
      ${run.index_error && html`<p class="note tone-bad wrap">${visible(run.index_error)}</p>`}
      <dl class="facts">${facts(run).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    </header>
    <${VerifyButton} id=${id} run=${run} />
    ${data.errors.length > 0 && html`<${Section} name="run-errors" title="Evidence that could not be read" aside=${plural(data.errors.length, "error")}>${table(["when", "category", "file", "detail"], data.errors.map((one) => [html`<${Time} at=${one.detected_at} />`, visible(one.category), html`<span class="mono wrap">${visible(one.source_path)}</span>`, html`<span class="wrap">${visible(one.detail)}</span>`]))}<//>`}
    <${Section} name="run-life" title="Lifecycle" aside=${plural(life.length, "record")}><${Lifecycle} told=${life} /><//>
    ${data.incidents.length > 0 && html`<${Section} name="run-incidents" title="Incidents" aside=${plural(data.incidents.length, "event")}>${table(["when", "state", "what", "severity", "summary"], data.incidents.map((one) => [html`<${Time} at=${one.recorded_at} />`, html`<${StatusMark} word=${one.state} />`, visible((one.category ?? "").replaceAll("_", " ")), visible(one.severity), html`<span class="wrap">${visible(one.summary)}</span>`]))}<//>`}
    ${data.permissions.length > 0 && html`<${Section} name="run-permissions" title="Permissions" aside=${plural(data.permissions.length, "event")}>${table(["when", "state", "operation", "target", "source"], data.permissions.map((one) => [html`<${Time} at=${one.recorded_at} />`, html`<${StatusMark} word=${one.state} />`, `${visible(one.operation)} on ${visible(one.resource_class)}`, html`<span class="mono wrap">${visible(one.target) || "–"}</span>`, visible(one.source)]))}<//>`}
    ${data.remediations.length > 0 && html`<${Section} name="run-remediations" title="What the supervisor did" aside=${plural(data.remediations.length, "action")}>${table(["when", "action", "outcome", "rule"], data.remediations.map((one) => [html`<${Time} at=${one.recorded_at} />`, visible((one.action ?? "").replaceAll("_", " ")), visible(one.outcome), html`<span class="mono">${visible(one.rule_id)}</span>`]))}<//>`}
    <${Section} name="run-health" title="Health" aside=${health.data ? plural(health.data.sample_count, "sample") : ""}><${Health} data=${health.data} fault=${health.fault} /><//>
    ${data.metrics.length > 0 && html`<${Section} name="run-metrics" title="Time, tokens, money" aside=${plural(data.metrics.length, "stage")}><${Metrics} rows=${data.metrics} /><//>`}
    ${data.process && html`<${Section} name="run-process" title="Process"><${Process} process=${data.process} /><//>`}
    ${data.nodes.length > 0 && html`<${Section} name="run-nodes" title="In workflows">${table(["workflow", "node", "state", "attempt"], data.nodes.map((one) => [html`<a href=${address(["fleet", "workflows", one.workflow_id])}>${visible(one.workflow_id)}</a>`, visible(one.node_id), html`<${StatusMark} word=${one.state} />`, one.attempt ?? ""]))}<//>`}
    ${(data.retried_by.length > 0 || run.retry_of_run_id) && html`<${Section} name="run-retries" title="Retries"><p>${run.retry_of_run_id && html`A retry of <${RunLink} id=${run.retry_of_run_id} />. `}${data.retried_by.length > 0 && html`Tried again by ${data.retried_by.map((one, index) => html`${index > 0 ? ", " : ""}<${RunLink} id=${typeof one === "string" ? one : one.session_id} />`)}.`}</p><//>`}
    ${data.notices.length > 0 && html`<${Section} name="run-notices" title="Notices" aside=${plural(data.notices.length, "notice")}>${table(["category", "file", "detail"], data.notices.map((one) => [visible(one.category ?? one.kind), html`<span class="mono wrap">${visible(one.source_path ?? one.relative_path)}</span>`, html`<span class="wrap">${visible(one.detail ?? one.schema_id)}</span>`]))}<//>`}
    <${Section} name="run-sources" title="Sources and digests" open=${false} aside=${plural(data.sources.length, "file")}>
      <p class="small soft">Check a file with <code>sha256sum</code>; a record of a journal with <code>${"sed -n Np FILE | tr -d '\\n' | sha256sum"}</code>.</p>
      <div class="scrolls" tabindex="0" role="group" aria-label="Sources, scrollable"><table><thead><tr><th scope="col">file</th><th scope="col" class="num">size</th><th scope="col" class="num">records</th><th scope="col">contract</th><th scope="col">sha256</th></tr></thead>
      <tbody>${data.sources.map((one) => html`<tr key=${one.relative_path}><td class="mono wrap">${visible(one.relative_path)}</td><td class="num">${bytes(one.size_bytes)}</td><td class="num">${one.record_count == null ? "" : count(one.record_count)}</td><td class="wrap small">${one.schema_ids.map(visible).join(", ")}</td><td class="mono digest-cell"><span title=${one.sha256}>${visible(one.sha256).slice(0, 12)}…</span> <${CopyButton} text=${one.sha256} what=${`digest of ${visible(one.relative_path)}`} /></td></tr>`)}</tbody></table></div>
    <//>`;
}

/** Why a traced run has no link to its trace, and what to do. */
function noTrace(run) {
  const file = html`<span class="mono wrap">${visible(run.trace_database)}</span>`;
  const words = {
    not_served: html`Its trace in ${file} is not served here: start <code>agent-workflow ui</code> again, or with this file as <code>--db</code>.`,
    gone: html`Its trace is gone: there is no ${file} any more.`,
    no_session: html`Its trace database ${file} does not hold its session ${visible(run.adw_id)}: <code>agent-workflow trace rebuild</code> fills it again from the session's files.`,
    unreadable: html`Its trace in ${file} cannot be read now.`,
  };
  return words[run.trace_state] && html`<p class="note tone-wait">${words[run.trace_state]}</p>`;
}

function facts(run) {
  const unknown = html`<span class="unknown">unknown</span>`;
  return [
    ["outcome", visible((run.attempt_classification ?? "").replaceAll("-", " ")) || (run.durable_status === "running" ? "not ended" : unknown)],
    ["evidence", run.evidence_complete ? html`<span class="tone-good">✓ sealed and verified when indexed</span>` : "not sealed"],
    ["executor", run.executor ? visible(run.executor) : unknown],
    ["model", run.model ? visible(run.model) : unknown],
    ["agent", visible([run.agent_name, run.agent_class].filter(Boolean).join(" · ")) || unknown],
    ["began", html`<${Time} at=${run.started_at ?? run.created_at} />`],
    ["took", tookOf(run)],
    run.exit_code != null && ["exit code", run.exit_code],
    run.failure_category && ["failure", html`<span class="tone-bad">${visible(run.failure_category.replaceAll("_", " "))}</span>`],
    run.completion_result && ["completion", visible(run.completion_result)],
    run.policy_result && ["policy", visible(run.policy_result.replaceAll("_", " "))],
    run.score_verdict && ["score", visible(run.score_verdict)],
    run.workflow_id && ["workflow", visible(run.workflow_id)],
    run.ticket_id && ["ticket", visible(run.ticket_id)],
    run.branch && ["branch", html`<span class="mono">${visible(run.branch)}</span>${run.dirty_at_launch ? " (uncommitted changes at launch)" : ""}`],
    run.workdir && ["folder", html`<span class="mono wrap">${visible(run.workdir)}</span>`],
    ["kept in", html`<span class="mono wrap">${visible(run.source_dir)}</span>`],
  ].filter(Boolean);
}

export function table(heads, rows) {
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${`${heads.join(", ")}, scrollable`}><table><thead><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead><tbody>${rows.map((cells, index) => html`<tr key=${index}>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** The records of the journals that say how far the run came, oldest first. */
function lifecycle(events) {
  return events.filter((event) => !/health-sample/.test(event.schema_id ?? "") && !/health-samples/.test(event.relative_path ?? "")).reverse().sort((left, right) => Number(!left.recorded_at) - Number(!right.recorded_at));
}

function Lifecycle({ told }) {
  if (told.length === 0) return html`<p class="soft">No journal says anything.</p>`;
  const first = moment(told.find((event) => event.recorded_at)?.recorded_at);
  return html`<div class="scrolls" tabindex="0" role="group" aria-label="Lifecycle, scrollable"><table><thead><tr><th scope="col" class="num">after</th><th scope="col">what</th><th scope="col">state</th><th scope="col">by</th><th scope="col">record</th></tr></thead>
    <tbody>${told.map((event) => {
      const at = moment(event.recorded_at);
      return html`<tr key=${`${event.relative_path}:${event.source_sequence}`}><td class="num soft" title=${visible(event.recorded_at)}>${at == null || first == null ? "" : `+${duration(at - first)}`}</td>
        <td class="wrap">${visible((event.event_kind ?? event.category ?? (event.schema_id ?? "").split("/")[1] ?? "record").replaceAll(/[_-]/g, " "))}${event.summary && html`<div class="small soft">${oneLine(event.summary, 300)}</div>`}</td>
        <td>${event.state || event.outcome ? html`<${StatusMark} word=${event.state ?? event.outcome} />` : ""}</td><td>${visible(event.actor)}</td><td class="mono small wrap">${visible(event.relative_path)}:${event.source_sequence}</td></tr>`;
    })}</tbody></table></div>`;
}

function Health({ data, fault }) {
  const rows = data?.rows ?? [];
  const x = useMemo(() => rows.map((row) => (moment(row.recorded_at) ?? 0) / 1000), [rows]);
  const of = (label, pick, tone, dash) => ({ label, values: rows.map((row) => pick(row) ?? null), tone, dash });
  const charts = useMemo(
    () => [
      { title: "Memory", format: bytes, steps: BINARY, series: [of("resident", (row) => row.rss_bytes, "--live"), of("peak", (row) => row.peak_rss_bytes, "--still", [4, 3])] },
      { title: "Processor time", format: (value) => duration(value * 1000), steps: CLOCK, series: [of("user", (row) => row.cpu_user_seconds, "--live"), of("system", (row) => row.cpu_system_seconds, "--still", [4, 3])] },
      { title: "Output", format: bytes, steps: BINARY, series: [of("output", (row) => row.output_bytes, "--live"), of("events", (row) => row.executor_event_bytes, "--still", [4, 3]), of("errors", (row) => row.stderr_bytes, "--bad", [2, 2])] },
      { title: "Time since progress", format: (value) => duration(value * 1000), steps: CLOCK, series: [of("since progress", (row) => row.seconds_since_semantic_progress, "--wait")] },
      { title: "Open files and children", format: count, series: [of("files", (row) => row.open_fd_count, "--live"), of("children", (row) => row.child_process_count, "--still", [4, 3])] },
      { title: "Load of the machine", format: (value) => value.toFixed(1), series: [of("load", (row) => row.host_load_1m, "--still")] },
    ].filter((chart) => chart.series.some((one) => one.values.some((value) => value != null))),
    [rows],
  );
  if (fault && !data) return html`<${Fault} fault=${fault} />`;
  if (!data) return html`<p class="soft">Reading …</p>`;
  if (rows.length === 0) return html`<p class="soft">No health sample was taken; a supervisor takes them while a run lives.</p>`;
  const last = rows[rows.length - 1];
  return html`<p class="small soft">Newest sample ${clock(moment(last.recorded_at))}: runner ${alive(last.runner_alive)}, executor ${alive(last.executor_alive)}${last.executor_state ? ` (${visible(last.executor_state)})` : ""}; last progress in ${visible(last.last_semantic_progress_source) || "an unknown place"}.</p>
    <div class="charts">${charts.map((chart) => html`<${Chart} key=${chart.title} title=${chart.title} summary=${chart.series.map((one) => `${one.label} ${lastOf(one.values, chart.format)}`).join(", ")} x=${x} series=${chart.series} format=${chart.format} steps=${chart.steps} height=${120} />`)}</div>`;
}

function lastOf(values, format) {
  const known = values.filter((value) => value != null);
  return known.length ? format(known[known.length - 1]) : "unknown";
}

function alive(flag) {
  return flag == null ? "unknown" : flag ? "alive" : "gone";
}

function Metrics({ rows }) {
  const number = (value) => (value == null ? html`<span class="unknown">unknown</span>` : count(value));
  const price = (value, currency) => (value == null ? html`<span class="unknown">unknown</span>` : currency ? money(value, currency) : `${value} (currency unknown)`);
  return html`<div class="scrolls" tabindex="0" role="group" aria-label="Metrics, scrollable"><table><thead><tr><th scope="col">stage</th><th scope="col" class="num">took</th><th scope="col" class="num">first output after</th><th scope="col" class="num">input</th><th scope="col" class="num">cached</th><th scope="col" class="num">output</th><th scope="col" class="num">billed</th><th scope="col" class="num">estimated</th><th scope="col" class="num">retries</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.stage}><th scope="row">${visible(row.stage)}</th><td class="num">${row.elapsed_seconds == null ? html`<span class="unknown">unknown</span>` : duration(row.elapsed_seconds * 1000)}</td><td class="num">${row.first_output_latency_seconds == null ? html`<span class="unknown">unknown</span>` : duration(row.first_output_latency_seconds * 1000)}</td>
      <td class="num">${number(row.input_tokens)}</td><td class="num">${number(row.cached_input_tokens)}</td><td class="num">${number(row.output_tokens)}</td><td class="num">${price(row.provider_billed_cost, row.currency)}</td><td class="num">${row.local_estimated_cost == null ? "" : "≈"}${price(row.local_estimated_cost, row.currency)}</td><td class="num">${count(row.retry_count)}</td></tr>`)}</tbody></table></div>`;
}

function Process({ process }) {
  const rows = [
    ["ended", visible((process.error_category ?? "").replaceAll("_", " "))],
    ["return code", process.returncode],
    ["signal", process.signal],
    ["took", process.duration_seconds == null ? null : duration(process.duration_seconds * 1000)],
    ["timed out", process.timed_out ? "yes" : "no"],
    ["output", `${bytes(process.stdout_bytes)}${process.stdout_truncated ? ", cut" : ""}`],
    ["errors", `${bytes(process.stderr_bytes)}${process.stderr_truncated ? ", cut" : ""}`],
    ["program", html`<span class="mono wrap">${visible(process.resolved_executable)}</span>`],
    ["pids", `runner ${process.runner_pid}${process.executor_pid ? `, executor ${process.executor_pid}` : ""}`],
  ].filter(([, value]) => value != null && value !== "");
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
