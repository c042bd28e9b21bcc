/** One phase: what went wrong first, then what it was for, what it did, what was checked, what came out, what it cost. */
import { html, useMemo } from "../core/html.js";
import { clock, count, exactTime, moment, plural } from "../core/format.js";
import { limited, pretty, visible } from "../core/text.js";
import { Section } from "../parts/section.js";
import { StatusMark } from "../parts/status-mark.js";
import { LongText } from "../parts/long-text.js";
import { TextBlock } from "../parts/text-block.js";
import { Span } from "../parts/values.js";
import { explainError } from "../trace/cause.js";
import { AgentConfig } from "./agent-config.js";
import { CostTable } from "./cost-table.js";
import { Ending } from "./ending.js";
import { Envelopes } from "./envelopes.js";
import { Gates } from "./gates.js";
import { Prompts } from "./prompts.js";
import { Sends } from "./sends.js";
import { ToolCalls } from "./tool-calls.js";
import { typeOf } from "../trace/event-types.js";

export function PhasePanel({ project, trace, phase, spend, now, home, addressOfEvent, addressOfPhase }) {
  const { session, phases, agents, log } = trace;
  const own = useMemo(() => (log?.events ?? []).filter((event) => event.phase === phase.phase_id), [log, trace.version, phase.phase_id]);
  const gates = trace.gates.filter((gate) => gate.phase_id === phase.phase_id);
  const envelopes = trace.envelopes.filter((one) => one.phase_id === phase.phase_id);
  const calls = useMemo(() => own.filter((event) => event.type === "tool_call"), [own]);
  const problems = useMemo(() => own.filter((event) => event.problem), [own]);
  const notes = useMemo(() => own.filter((event) => event.type === "log" && event.payload && typeof event.payload.message !== "string"), [own]);
  // A command that was recorded from outside says how it ended; neither it nor an imported session has prompts of ours.
  const ran = own.find((event) => event.type === "agent_end" && event.payload?.stdout_bytes != null);
  const starts = own.filter((event) => event.type === "agent_start");
  const addressOfCall = (callId) => (log?.byCall.has(callId) ? addressOfEvent(log.byCall.get(callId).id) : null);
  const imported = starts.some((event) => event.imported);
  const row = spend.rows.find((one) => one.phase.phase_id === phase.phase_id);
  const at = phases.indexOf(phase);
  const [previous, next] = [phases[at - 1], phases[at + 1]];
  const dead = session.shown_status === "lost" && phase.status === "running";
  const running = phase.status === "running" && !dead;
  const start = moment(phase.started_at);
  const end = moment(phase.ended_at) ?? (running ? now : dead ? moment(session.last_event_at) : null);
  const request = phase.kind === "engineer" ? own.find((event) => event.payload?.input != null)?.payload.input : null;
  const said = explainError(phase.error);
  const isAgent = phase.kind === "agent";
  return html`<div class="panel-head">
      <p class="panel-kind"><${StatusMark} word=${dead ? "lost" : phase.status} chip /> <span class="soft">phase ${phase.seq} · ${visible(phase.kind)} · ${visible(phase.owner)}</span></p>
      <nav class="panel-nav" aria-label="Phases">
        ${previous && html`<a href=${addressOfPhase(previous.phase_id)} title="previous phase ([)">previous</a>`} ${next && html`<a href=${addressOfPhase(next.phase_id)} title="next phase (])">next</a>`} <a href=${home} title="close (Esc)">close</a>
      </nav>
    </div>
    <h2 class="wrap">${limited(phase.name, 200)}</h2>
    <p class="wrap soft">${limited(phase.description, 4000) || "no description"}</p>
    <dl class="facts small">
      <div><dt>began</dt><dd class="num" title=${exactTime(phase.started_at)}>${clock(start, true) || "not started"}</dd></div>
      <div><dt>${dead ? "last sign of life after" : running ? "running for" : "took"}</dt><dd><${Span} ms=${start != null && end != null ? end - start : null} /></dd></div>
      ${phase.retries > 0 && html`<div><dt>retries</dt><dd class="num">${phase.attempt ?? 0} of ${phase.retries} allowed</dd></div>`}
      ${calls.length > 0 && html`<div><dt>tool calls</dt><dd class="num">${count(calls.length)}</dd></div>`}
    </dl>
    ${phase.error && html`<div class="note tone-bad"><strong>Error</strong>${said && html`<p>${said}</p>`}<${LongText} text=${phase.error} /></div>`}
    ${dead && html`<p class="note tone-lost">The run died inside this phase: it never ended.</p>`}
    ${problems.length > 0 && html`<${Section} name="phase-problems" level=${3} title="Errors" aside=${plural(problems.length, "event")}>
      <ul class="problems">${problems.slice(0, 50).map((event) => html`<li key=${event.id}><a href=${addressOfEvent(event.id)} class=${`wrap${event.type === "tool_call" ? " mono" : ""}`}><span class="tone-bad">${typeOf(event).glyph} ${typeOf(event).word}</span> ${event.label}</a></li>`)}</ul>
      ${problems.length > 50 && html`<p class="small soft">and ${count(problems.length - 50)} more: the event list shows errors only when you ask it to.</p>`}<//>`}
    ${request != null && html`<${Section} name="phase-request" level=${3} title="Request"><${TextBlock} title="request" text=${pretty(request)} /><//>`}
    ${gates.length > 0 && html`<${Section} name="phase-gates" level=${3} title="Gates" aside=${gateWords(gates)}><${Gates} project=${project} adwId=${session.adw_id} gates=${gates} /><//>`}
    ${isAgent && gates.length === 0 && !running && !ran && !imported && html`<p class="small soft">No gate looked at this phase.</p>`}
    ${calls.length > 0 && html`<${Section} name="phase-calls" level=${3} title="Tool calls" aside=${plural(calls.length, "call")}><${ToolCalls} project=${project} adwId=${session.adw_id} calls=${calls} addressOfEvent=${addressOfEvent} /><//>`}
    ${envelopes.length > 0 && html`<${Section} name="phase-envelopes" level=${3} title="Handed over" aside=${plural(envelopes.length, "reply", "replies")}><${Envelopes} project=${project} adwId=${session.adw_id} envelopes=${envelopes} /><//>`}
    ${row && html`<${Section} name="phase-cost" level=${3} title="Cost"><${CostTable} row=${row} open=${running} /><${Sends} project=${project} adwId=${session.adw_id} phaseId=${phase.phase_id} seenAt=${running ? own.length : "ended"} addressOf=${addressOfCall} /><//>`}
    ${ran && html`<${Section} name="phase-command" level=${3} title="Command"><${Ending} payload=${ran.payload} tokens=${ran.tokens} isProcessOnly /><//>`}
    ${isAgent && (ran || imported ? null : html`<${Section} name="phase-prompts" level=${3} title="Prompts" open=${false}><${Prompts} project=${project} adwId=${session.adw_id} phase=${phase} seenAt=${running ? own.length : "ended"} /><//>`)}
    ${isAgent && html`<${Section} name="phase-agent" level=${3} title="Agent" aside=${visible(agents.find((one) => one.agent === phase.owner)?.model ?? "")}><${AgentConfig} starts=${starts} agent=${agents.find((one) => one.agent === phase.owner)} /><//>`}
    ${notes.length > 0 && request == null && html`<${Section} name="phase-notes" level=${3} title="Logged" aside=${plural(notes.length, "note")}>
      <ul class="stack">${notes.slice(0, 30).map((event) => html`<li key=${event.id}><${TextBlock} title=${`${clock(event.at, true)} · ${visible(event.name)}`} text=${pretty(event.payload)} /></li>`)}</ul>
      ${notes.length > 30 && html`<p class="small soft">and ${count(notes.length - 30)} more in the event list.</p>`}<//>`}`;
}

function gateWords(gates) {
  const bad = gates.filter((gate) => gate.outcome === "failed").length;
  const empty = gates.filter((gate) => gate.evidence === "inspected_nothing").length;
  const silent = gates.filter((gate) => gate.evidence === "not_recorded").length;
  return [`${gates.length - bad} of ${gates.length} passed`, empty && `${empty} inspected nothing`, silent && `${silent} without evidence`].filter(Boolean).join(" · ");
}
