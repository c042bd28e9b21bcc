/** One event in full. */
import { html, useEffect, useState } from "../core/html.js";
import { readEvent } from "../core/endpoints.js";
import { clock, count, duration, exactTime } from "../core/format.js";
import { oneLine, parsed, pretty, visible } from "../core/text.js";
import { TextBlock } from "../parts/text-block.js";
import { explainError } from "./cause.js";
import { typeOf } from "./event-types.js";
import { Checks } from "../phase/checks.js";
import { Ending } from "../phase/ending.js";

export function EventPanel({ project, adwId, event, log, phases, from, home, addressOfEvent, addressOfPhase, onSeek }) {
  const type = typeOf(event);
  const phase = phases.find((one) => one.phase_id === event.phase);
  const at = log.events.indexOf(event);
  const [previous, next] = [log.events[at - 1], log.events[at + 1]];
  return html`<div class="panel-head">
      <p class="panel-kind"><span class=${`status tone-${type.tone}`}><span class="glyph" aria-hidden="true">${type.glyph}</span>${visible(type.word)}</span>
        ${phase && html`<span class="soft"> in <a href=${addressOfPhase(phase.phase_id)}>${visible(phase.name)}</a></span>`}</p>
      <nav class="panel-nav" aria-label="Events">
        ${previous && html`<a href=${addressOfEvent(previous.id)}>previous</a>`} ${next && html`<a href=${addressOfEvent(next.id)}>next</a>`}
        <button type="button" class="plain" onClick=${() => onSeek(1)} title="next error (n)">next error</button> <a href=${home} title="close (Esc)">close</a>
      </nav>
    </div>
    <h2 class=${`wrap${event.type === "tool_call" ? " mono" : ""}`}>${oneLine(event.label || event.name, 400)}</h2>
    <dl class="facts small">
      <div><dt>at</dt><dd class="num" title=${exactTime(event.startedAt)}>${clock(event.at, true)}</dd></div>
      ${from != null && html`<div><dt>after the start</dt><dd class="num">+${duration(event.at - from)}</dd></div>`}
      ${event.took != null && html`<div><dt>took</dt><dd class="num">${duration(event.took)}</dd></div>`}
      ${event.tokens != null && html`<div><dt>tokens</dt><dd class="num">${count(event.tokens)}</dd></div>`}
      <div><dt>event</dt><dd class="mono">${visible(event.id)}</dd></div>
    </dl>
    <${Payload} project=${project} adwId=${adwId} event=${event} />`;
}

/** The payload, fetched whole when only its beginning is here. */
export function Payload({ project, adwId, event, find = "" }) {
  const [payload, setPayload] = useState(event.payload && !event.cut ? event.payload : null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    if (payload !== null) return undefined;
    const abort = new AbortController();
    readEvent(project, adwId, event.id, abort.signal).then(
      (whole) => setPayload(parsed(whole.payload_json) ?? {}),
      (error) => error.name !== "AbortError" && setFault(error.message),
    );
    return () => abort.abort();
  }, [event.id]);
  if (fault) return html`<p class="note tone-wait">${visible(fault)}</p>`;
  if (payload === null) return html`<p class="soft">Reading ${count(event.size)} bytes …</p>`;
  if (typeof payload !== "object") return html`<${TextBlock} title="payload (no JSON object)" text=${pretty(payload)} find=${find} />`;
  if (event.type === "tool_call") return html`<${ToolCall} payload=${payload} denied=${event.denied} find=${find} />`;
  if (event.type === "agent_end") return html`<${Ending} payload=${payload} tokens=${event.tokens} /><${Raw} payload=${payload} find=${find} />`;
  if (event.type === "gate_pass" || event.type === "gate_fail") return html`<${Checks} checks=${Array.isArray(payload.checks) ? payload.checks : null} violations=${payload.violations} passed=${event.type === "gate_pass"} /><${Raw} payload=${payload} find=${find} />`;
  if (event.type === "error") {
    const text = String(payload.error ?? payload.reason ?? pretty(payload));
    const said = explainError(text);
    return html`${said && html`<p class="note tone-bad">${said}</p>`}<${TextBlock} title=${payload.error != null ? "error" : "reason"} text=${text} find=${find} /><${Raw} payload=${payload} find=${find} />`;
  }
  if (event.type === "log" && typeof payload.message === "string") return html`<${TextBlock} title=${`message${payload.level ? ` · ${visible(payload.level)}` : ""}`} text=${payload.message} find=${find} />`;
  return html`<${TextBlock} title="payload" text=${pretty(payload)} find=${find} />`;
}

function ToolCall({ payload, denied, find }) {
  const args = payload.args ?? payload.arguments;
  const simple = args && typeof args === "object" && Object.keys(args).length > 0;
  const result = payload.result ?? payload.result_snippet;
  return html`<div class="stack">
    ${denied && html`<p class="note tone-wait"><strong>Denied.</strong> It was not allowed to run${denied.reason ? `: ${visible(denied.reason)}` : "; why was not said"}.</p>`}
    ${payload.interrupted && html`<p class="note tone-wait">It never came back: the agent ended first.</p>`}
    ${payload.parent_tool_call_id && html`<p class="small soft">Made by a sub-agent, in call <span class="mono">${visible(payload.parent_tool_call_id)}</span>.</p>`}
    <p><span class=${`status ${payload.ok === false ? "tone-bad" : payload.ok === true ? "tone-good" : "tone-still"}`}><span class="glyph" aria-hidden="true">${payload.ok === false ? "✗" : payload.ok === true ? "✓" : "?"}</span>${payload.ok === false ? "failed" : payload.ok === true ? "ended well" : "how it ended was not recorded"}</span>
      <span class="soft small"> ${visible(payload.tool)}${payload.agent ? ` · ${visible(payload.agent)}` : ""}${payload.tool_call_id ? html` · <span class="mono">${visible(payload.tool_call_id)}</span>` : ""}</span></p>
    ${simple ? Object.entries(args).map(([name, value]) => html`<${TextBlock} key=${name} title=${`argument ${visible(name)}`} text=${pretty(value)} find=${find} />`) : html`<p class="soft small">${args == null ? "no arguments were recorded" : "called without arguments"}</p>`}
    ${result == null ? html`<p class="soft small">no result was recorded</p>` : html`<${TextBlock} title=${payload.result == null ? "result (as much as the trace keeps)" : "result"} text=${pretty(result)} find=${find} />`}
  </div>`;
}

function Raw({ payload, find }) {
  return html`<details class="raw"><summary class="small soft">payload</summary><${TextBlock} title="payload" text=${pretty(payload)} find=${find} /></details>`;
}
