/** What each send of a phase cost, how it was answered, what was denied to it; and money that nothing accounts for. */
import { html, useEffect, useState } from "../core/html.js";
import { readReconciliation } from "../core/endpoints.js";
import { count, exactMoney, plural } from "../core/format.js";
import { oneLine, visible } from "../core/text.js";
import { Denials } from "./ending.js";

const VERDICTS = { differs: "does not add up", unknown: "cannot be checked: a part was not recorded", adds_up: "adds up" };

export function Sends({ project, adwId, phaseId, seenAt, addressOf }) {
  const [phase, setPhase] = useState(null);
  useEffect(() => {
    const abort = new AbortController();
    // What cannot be reconciled is no reason to hide the figures above.
    readReconciliation(project, adwId, abort.signal).then((all) => setPhase(all.phases.find((one) => one.phase_id === phaseId) ?? null), () => {});
    return () => abort.abort();
  }, [phaseId, seenAt]);
  const calls = phase?.calls ?? [];
  const isShared = new Set(calls.map((call) => call.agent)).size > 1;
  const sends = calls.flatMap((call) => call.sends.map((send) => ({ ...send, agent: isShared ? call.agent : null })));
  const isBilled = sends.some((send) => send.usage?.total_cost != null);
  const denials = sends.flatMap((send) => send.denials);
  const extra = calls.flatMap((call) => call.lines).filter((line) => line.kind !== "conversation");
  const unsure = calls.filter((call) => call.cost_verdict === "differs" || call.tokens_verdict === "differs" || call.sends_verdict === "differs");
  if (sends.length === 0 && extra.length === 0 && unsure.length === 0) return null;
  return html`${sends.length > 0 && html`<table class="cost sends"><caption class="small soft">send by send</caption>
      <thead><tr><th scope="col">send</th><th scope="col">answer</th><th scope="col" class="num">turns</th><th scope="col" class="num">tokens</th>${isBilled && html`<th scope="col" class="num">billed</th>`}</tr></thead>
      <tbody>${sends.map((send, index) => html`<tr key=${index}><td class="num">${send.number}</td><td class=${send.error ? "tone-bad wrap" : "wrap"}>${visible((send.verdict ?? "").replaceAll("_", " "))}${send.error ? html`<div class="small">${oneLine(send.error, 300)}</div>` : ""}<div class="small soft">${aside(send)}</div></td><td class="num">${send.turns ?? ""}</td><td class="num">${send.usage_known === "partial" ? "≥ " : ""}${amount(send.usage?.total_tokens)}</td>${isBilled && html`<td class="num">${price(send.usage?.total_cost)}</td>`}</tr>`)}</tbody></table>`}
    <${Denials} denials=${denials} addressOf=${addressOf} />
    ${extra.length > 0 && html`<p class="small soft">Outside the conversation: ${extra.map((line) => `${visible(line.kind)} ${line.usage?.total_cost == null ? "unknown" : exactMoney(line.usage.total_cost)}`).join(", ")}.</p>`}
    ${unsure.map((call) => html`<p key=${call.event_id} class="note tone-wait small">The agent's own figures: tokens ${VERDICTS[call.tokens_verdict]}, cost ${VERDICTS[call.cost_verdict]}, sends ${VERDICTS[call.sends_verdict]}.</p>`)}`;
}

/** Whose it was where several agents worked in the phase, the model that answered, and how often the agent tried again by itself. */
function aside(send) {
  return [visible(send.agent), visible(send.model), send.retries > 0 && plural(send.retries, "retry", "retries")].filter(Boolean).join(" · ");
}

function amount(value) {
  return value == null ? html`<span class="unknown">unknown</span>` : count(value);
}

function price(value) {
  return value == null ? html`<span class="unknown">unknown</span>` : exactMoney(value);
}
