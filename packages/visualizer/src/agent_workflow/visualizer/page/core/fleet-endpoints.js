/** The routes over the evidence index. */
import { getJson } from "./api.js";

function path(route, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value != null && value !== "") search.set(name, String(value));
  const text = search.toString();
  return `api/fleet/${route}${text ? `?${text}` : ""}`;
}

export const readStatus = (signal) => getJson(path("status"), { signal });
export const readAttention = (signal) => getJson(path("attention"), { signal });
export const readSpend = (since, signal) => getJson(path("spend", { since }), { signal });
export const readOutcomes = (since, signal) => getJson(path("outcomes", { since }), { signal });
export const readRuns = (filters, signal) => getJson(path("runs", filters), { signal });
export const readRun = (id, signal) => getJson(path(`runs/${encodeURIComponent(id)}`), { signal });
export const readRunHealth = (id, signal) => getJson(path(`runs/${encodeURIComponent(id)}/health`, { points: 500 }), { signal });
export const readWorkflows = (signal) => getJson(path("workflows"), { signal });
export const readRows = (kind, filters, signal) => getJson(path(kind, filters), { signal });
export const verify = (query, signal) => getJson(path("verify", query), { signal, keep: false });
