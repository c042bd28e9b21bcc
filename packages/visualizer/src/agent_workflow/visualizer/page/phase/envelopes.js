/** What the agent handed over, and the replies that did not fit. */
import { html } from "../core/html.js";
import { readEnvelope } from "../core/endpoints.js";
import { parsed, pretty, visible } from "../core/text.js";
import { TextBlock } from "../parts/text-block.js";
import { Time } from "../parts/values.js";

export function Envelopes({ project, adwId, envelopes }) {
  return html`<ol class="stack">${envelopes.map((envelope) => html`<li key=${envelope.envelope_id}><${Envelope} project=${project} adwId=${adwId} envelope=${envelope} /></li>`)}</ol>`;
}

function Envelope({ project, adwId, envelope }) {
  const body = parsed(envelope.payload_json);
  const invalid = envelope.valid === 0;
  const raw = invalid && body && typeof body === "object" && typeof body.raw === "string" ? body.raw : null;
  const whole = envelope.payload_cut ? async () => pretty(parsed((await readEnvelope(project, adwId, envelope.envelope_id)).payload_json)) : null;
  return html`<div class="stack">
    <p><span class=${`status tone-${invalid ? "bad" : envelope.valid === 1 ? "good" : "still"}`}><span class="glyph" aria-hidden="true">${invalid ? "✗" : envelope.valid === 1 ? "✓" : "?"}</span>${invalid ? "did not fit" : envelope.valid === 1 ? "valid" : "not known whether it fits"}</span>
      <strong> ${visible(envelope.output_type)}</strong> <span class="soft small">attempt ${envelope.attempt ?? "?"} · ${visible(envelope.agent)} · <${Time} at=${envelope.created_at} form="clock" /></span></p>
    ${!invalid && body && typeof body === "object" && typeof body.summary === "string" && html`<p class="wrap">${visible(body.summary)}</p>`}
    <${TextBlock} title=${raw != null ? "reply as it came" : "envelope"} text=${raw ?? pretty(body)} whole=${whole} size=${envelope.payload_size} />
  </div>`;
}
