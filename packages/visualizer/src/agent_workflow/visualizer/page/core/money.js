/** Money by where it comes from. The kinds stand beside each other and are never added. */
import { listOf, parsed } from "./text.js";

/**
 * billed: as the agent reported it; estimated: by a price list; subscription: covered by one, at list price;
 * unknown: tokens whose price nobody told.
 */
export const KINDS = ["billed", "estimated", "subscription", "unknown"];

/** @typedef {{kind: string, amount: number|null, tokens: number|null, catalogue: string}} Part */

/**
 * What the row of a session says.
 * @returns {Part[]} a billed part without an amount: the row does not say how much of it was billed, its calls do
 */
export function moneyOfSession(session) {
  const { total_cost: billed, estimated_cost: estimated, cost_basis: basis, total_tokens: tokens } = session;
  const parts = [];
  const covered = basis === "subscription";
  if (billed > 0 || (billed === 0 && (basis === "billed" || !tokens))) parts.push(part("billed", billed));
  else if (estimated != null && basis == null) parts.push(part("billed", null));
  if (estimated != null || covered || basis === "estimated") parts.push(part(covered ? "subscription" : "estimated", estimated ?? null, null, session.price_catalogue));
  return parts.length ? parts : [part("unknown", null, tokens ?? null)];
}

/**
 * What an `agent_end` says. A price of nothing for many tokens is a price nobody knew, unless the agent is known to have named it.
 * @returns {Part[]}
 */
export function moneyOfCall(payload, tokens) {
  const lines = (listOf(payload.spend) ?? []).filter((line) => line?.calls !== 0);
  // A list that was cut for the page ends in a word about the rest: then the sums beside it are taken.
  if (lines.length > 0 && lines.every((line) => line && typeof line === "object")) return addUp(lines.map((line) => [partOfLine(line, payload.price_catalogue)]));
  const cost = parsed(payload.usage)?.total_cost ?? payload.cost ?? null;
  const { estimated_cost: estimated, cost_basis: basis } = payload;
  const parts = [];
  if (cost > 0 || (cost === 0 && (!tokens || isNamed(payload)))) parts.push(part("billed", cost, estimated == null ? tokens : null));
  if (estimated != null) parts.push(part(basis === "subscription" ? "subscription" : "estimated", estimated, basis == null ? null : tokens, payload.price_catalogue));
  return parts.length ? parts : [part("unknown", null, tokens)];
}

function isNamed(payload) {
  const sends = listOf(payload.sends) ?? [];
  return payload.cost_basis === "billed" || (sends.length > 0 && sends.every((send) => send?.cost_basis === "agent_reported"));
}

function partOfLine(line, catalogue) {
  const kind = KINDS.includes(line.basis) ? line.basis : "unknown";
  const tokens = ["input", "output", "cache_read", "cache_write"].reduce((sum, name) => sum + (line[`${name}_tokens`] ?? 0), 0);
  return part(kind, kind === "unknown" ? null : line.amount ?? null, tokens, kind === "billed" ? "" : catalogue);
}

/** Sum up kind by kind; what one part does not know is unknown in the sum of its kind. */
export function addUp(lists) {
  const sums = new Map();
  for (const one of lists.flat()) {
    const sum = sums.get(one.kind);
    sums.set(one.kind, sum ? part(one.kind, plus(sum.amount, one.amount), plus(sum.tokens, one.tokens), one.catalogue || sum.catalogue) : one);
  }
  return KINDS.filter((kind) => sums.has(kind)).map((kind) => sums.get(kind));
}

/** Other writers may leave anything in a column: what is no number is not known. */
function part(kind, amount, tokens = null, catalogue = "") {
  return { kind, amount: numberOrNull(amount), tokens: numberOrNull(tokens), catalogue: catalogue ?? "" };
}

function numberOrNull(value) {
  return typeof value === "number" ? value : null;
}

function plus(left, right) {
  return left == null || right == null ? null : left + right;
}
