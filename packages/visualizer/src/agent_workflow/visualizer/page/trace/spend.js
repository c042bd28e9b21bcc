/** What a session cost and where: one row a phase, itemised by its agent_end. */
import { addUp, moneyOfCall } from "../core/money.js";
import { listOf, parsed } from "../core/text.js";

const PARTS = ["input", "output", "cache_read", "cache_write"];

/**
 * @param {{phase_id: string}[]} phases
 * @param {object[]} events slim events
 * @returns {{rows: object[], total: object}} `money`: by kind; costs of parts are what was billed, null where unknown; a total is unknown
 *   as soon as one part is. `partial`: the numbers are a lower bound. `subagents`: tokens of sub-agents that are inside the row's
 */
export function spendByPhase(phases, events) {
  const ends = new Map();
  for (const event of events) {
    if (event.type !== "agent_end") continue;
    const list = ends.get(event.phase) ?? [];
    list.push(event);
    ends.set(event.phase, list);
  }
  const rows = phases.filter((phase) => phase.kind === "agent" || ends.has(phase.phase_id)).map((phase) => rowOf(phase, ends.get(phase.phase_id) ?? []));
  return { rows, total: totalOf(rows) };
}

/**
 * What each agent spent, sub-agents that were told apart included: every `agent_end` counts once, with the agent that it names.
 * @returns {Map<string, object[]>} money by kind, by agent
 */
export function moneyByAgent(events) {
  const found = new Map();
  for (const event of events) if (event.type === "agent_end") found.set(event.agent, addUp([found.get(event.agent) ?? [], usageOf(event).money]));
  return found;
}

function rowOf(phase, ends) {
  const usages = ends.map((event) => usageOf(event));
  const row = { phase, ended: ends.length > 0 };
  for (const part of PARTS) {
    row[`${part}_tokens`] = sum(usages.map((usage) => usage[`${part}_tokens`]));
    row[`${part}_cost`] = sum(usages.map((usage) => usage[`${part}_cost`]));
  }
  row.reasoning_tokens = sum(usages.map((usage) => usage.reasoning_tokens));
  row.total_tokens = sum(usages.map((usage) => usage.total_tokens));
  row.total_cost = sum(usages.map((usage) => usage.total_cost));
  row.money = addUp(usages.map((usage) => usage.money));
  const sends = ends.flatMap((event) => listOf(event.payload?.sends) ?? []);
  row.partial = sends.some((send) => send?.usage_known === "partial" || send?.usage_known === "unknown") && row.total_tokens != null;
  const inside = sends.map((send) => parsed(send?.subagent_usage)?.total_tokens).filter((tokens) => typeof tokens === "number");
  row.subagents = inside.length ? sum(inside) : null;
  return row;
}

function usageOf(event) {
  const payload = event.payload ?? {};
  const usage = parsed(payload.usage) ?? {};
  const tokens = usage.total_tokens ?? event.tokens ?? null;
  const money = moneyOfCall(payload, tokens);
  const billed = money.length === 1 && money[0].kind === "billed" ? money[0].amount : null;
  const facts = { ...usage, total_tokens: tokens, total_cost: billed, money };
  if (billed == null) for (const part of PARTS) facts[`${part}_cost`] = null;
  return facts;
}

function totalOf(rows) {
  const total = {};
  const ended = rows.filter((row) => row.ended);
  for (const part of [...PARTS, "total"]) {
    total[`${part}_tokens`] = sum(ended.map((row) => row[`${part}_tokens`]));
    total[`${part}_cost`] = sum(ended.map((row) => row[`${part}_cost`]));
  }
  total.reasoning_tokens = sum(ended.map((row) => row.reasoning_tokens));
  total.money = addUp(ended.map((row) => row.money));
  return total;
}

/** The sum; null when there is nothing to add or one part is unknown. */
function sum(values) {
  if (values.length === 0 || values.some((value) => typeof value !== "number")) return null;
  return values.reduce((left, right) => left + right, 0);
}
