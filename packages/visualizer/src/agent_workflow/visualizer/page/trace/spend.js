/** What a session cost and where: one row a phase, itemised by its agent_end. */
import { parsed } from "../core/text.js";

const PARTS = ["input", "output", "cache_read", "cache_write"];

/**
 * @param {{phase_id: string}[]} phases
 * @param {object[]} events slim events
 * @returns {{rows: object[], total: object}} money null where unknown; a total is unknown as soon as one part is
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
  return row;
}

function usageOf(event) {
  const payload = event.payload ?? {};
  const usage = parsed(payload.usage) ?? {};
  const cost = usage.total_cost ?? payload.cost ?? null;
  const tokens = usage.total_tokens ?? event.tokens ?? null;
  // A price of nothing for many tokens is a price nobody knew.
  const unknown = cost == null || (cost === 0 && tokens > 0);
  const facts = { ...usage, total_tokens: tokens, total_cost: unknown ? null : cost };
  if (unknown) for (const part of PARTS) facts[`${part}_cost`] = null;
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
  return total;
}

/** The sum; null when there is nothing to add or one part is unknown. */
function sum(values) {
  if (values.length === 0 || values.some((value) => typeof value !== "number")) return null;
  return values.reduce((left, right) => left + right, 0);
}
