/** How an agent's process and its sends ended, as its `agent_end` says: what any command tells, and what only agents do. */
import { html } from "../core/html.js";
import { bytes, count, duration, plural } from "../core/format.js";
import { moneyOfCall } from "../core/money.js";
import { listOf, oneLine, parsed, visible } from "../core/text.js";
import { MoneyParts } from "../parts/money-parts.js";

/** @param {{payload: object, tokens: number|null, isProcessOnly?: boolean}} props `isProcessOnly`: what it spent is told beside it */
export function Ending({ payload, tokens, isProcessOnly = false }) {
  const sends = (listOf(payload.sends) ?? []).filter((send) => send && typeof send === "object");
  const models = [...new Set(sends.map((send) => send.model).filter(Boolean))];
  const retries = sends.reduce((sum, send) => sum + (send.retries > 0 ? send.retries : 0), 0);
  const denials = sends.flatMap((send) => listOf(send.denials) ?? []).filter((one) => one && typeof one === "object");
  const partial = sends.some((send) => send.usage_known === "partial");
  const used = parsed(payload.usage)?.total_tokens ?? payload.tokens ?? tokens;
  const rows = processOf(payload);
  if (!isProcessOnly) rows.unshift(
    ["answer", sends.length > 0 && visible(String(sends[sends.length - 1].verdict ?? "").replaceAll("_", " "))],
    ["cost", html`<${MoneyParts} parts=${moneyOfCall(payload, used)} exact />`],
    ["tokens", used == null ? html`<span class="unknown">unknown</span>` : `${partial ? "at least " : ""}${count(used)}`],
    ["model", visible(models.join(", "))],
    ["tried again", retries > 0 && plural(retries, "time")],
    ["agent's session", visible(payload.session_id)],
  );
  const shown = rows.filter(([, value]) => value);
  return html`<table class="pairs"><tbody>${shown.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="wrap">${value}</td></tr>`)}</tbody></table>
    ${!isProcessOnly && html`<${Denials} denials=${denials} />`}`;
}

/** @param {{denials: object[], addressOf?: (callId: string) => string|null}} props `addressOf`: where the call that was denied can be seen */
export function Denials({ denials, addressOf = () => null }) {
  if (denials.length === 0) return null;
  return html`<div class="note tone-wait"><strong>${plural(denials.length, "tool call was", "tool calls were")} denied</strong>
    <ul class="denials">${denials.map((one, index) => html`<li key=${index} class="wrap"><${Denied} denial=${one} address=${addressOf(one.tool_call_id)} />${one.reason ? `: ${oneLine(one.reason, 300)}` : ""}</li>`)}</ul></div>`;
}

function Denied({ denial, address }) {
  const name = html`<span class="mono">⊘ ${visible(denial.tool) || "a tool"}</span>`;
  return address ? html`<a href=${address}>${name}</a>` : name;
}

function processOf(payload) {
  return [
    ["ended", endOf(payload)],
    ["took", typeof payload.duration_ms === "number" && duration(payload.duration_ms)],
    ["printed", printed(payload)],
    ["needed", needed(payload.health)],
  ];
}

function endOf(payload) {
  if (payload.signal) return visible(`by ${payload.signal}`);
  return typeof payload.exit_code === "number" ? `with exit code ${payload.exit_code}` : null;
}

function printed({ stdout_bytes: out, stderr_bytes: err, unrecorded_bytes: lost }) {
  return [out != null && `${bytes(out)} on stdout`, err != null && `${bytes(err)} on stderr`, lost > 0 && `${bytes(lost)} of it not recorded`].filter(Boolean).join(", ");
}

function needed(health) {
  if (!health || typeof health !== "object") return null;
  const { cpu_user_seconds: user, cpu_system_seconds: system, peak_rss_bytes: memory } = health;
  return [typeof user === "number" && `${duration((user + (system ?? 0)) * 1000)} of CPU time`, typeof memory === "number" && `${bytes(memory)} of memory at most`].filter(Boolean).join(", ");
}
