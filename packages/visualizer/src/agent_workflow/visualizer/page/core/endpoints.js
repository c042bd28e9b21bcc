/** Every route the page asks, and the small steps from what it answers to what the screens show. `docs/api.md` has the shapes. */
import { FIRST_EVENTS } from "../early.js";
import { ask, getJson, postJson } from "./api.js";
import { moment } from "./format.js";
import { moneyOfSession } from "./money.js";
import { explainError } from "../trace/cause.js";

const base = (project) => (project ? `api/projects/${encodeURIComponent(project)}` : "api");
const ofSession = (project, adwId) => `${base(project)}/sessions/${encodeURIComponent(adwId)}`;

function search(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value != null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return text ? `?${text}` : "";
}

export const readProjects = (signal) => getJson("api/projects", { signal });

/** @returns {Promise<{sessions: object[], total: number}>} */
export async function readSessions(project, filters, signal) {
  const { body, headers } = await ask(`${base(project)}/sessions${search(filters)}`, { signal });
  const sessions = listed(body);
  return { sessions, total: Number(headers.get("x-total-count") ?? sessions.length) };
}

export const readFacets = (project, signal) => getJson(`${base(project)}/facets`, { signal });
export const readHealth = (project, signal) => getJson(`${base(project)}/health`, { signal });

const details = new WeakMap();

export async function readDetail(project, adwId, signal) {
  const body = await getJson(ofSession(project, adwId), { signal });
  if (!details.has(body)) details.set(body, { ...body, session: dressed(body.session) });
  return details.get(body);
}

/** A page behind the cursor. The log knows what to say: its cursor, its generation and the anchor that proves both. */
export function readEvents(project, adwId, log, signal) {
  const where = search({ after: log.cursor, limit: log.cursor === 0 ? FIRST_EVENTS : 1000, generation: log.generation, anchor: log.anchor });
  return getJson(`${ofSession(project, adwId)}/events${where}`, { signal, keep: log.settled });
}

export const readEvent = (project, adwId, id, signal) => getJson(`${ofSession(project, adwId)}/events/${encodeURIComponent(id)}`, { signal, keep: false });
export const readGates = (project, adwId, signal) => getJson(`${ofSession(project, adwId)}/gates`, { signal });
export const readGate = (project, adwId, id, signal) => getJson(`${ofSession(project, adwId)}/gates/${encodeURIComponent(id)}`, { signal, keep: false });
export const readEnvelopes = (project, adwId, signal) => getJson(`${ofSession(project, adwId)}/envelopes`, { signal });
export const readEnvelope = (project, adwId, id, signal) => getJson(`${ofSession(project, adwId)}/envelopes/${encodeURIComponent(id)}`, { signal, keep: false });
export const readProcesses = (project, adwId, signal) => getJson(`${ofSession(project, adwId)}/processes`, { signal });
export const readPrompts = (project, adwId, agent, signal) => getJson(`${ofSession(project, adwId)}/agents/${encodeURIComponent(agent)}/prompts`, { signal });
export const readSend = (project, adwId, agent, label, signal) => getJson(`${ofSession(project, adwId)}/agents/${encodeURIComponent(agent)}/prompts/${encodeURIComponent(label)}`, { signal });
export const readEvidence = (project, adwId, signal) => getJson(`${ofSession(project, adwId)}/evidence`, { signal });
export const readReconciliation = (project, adwId, signal) => getJson(`${ofSession(project, adwId)}/reconciliation`, { signal });
export const readFiles = (project, adwId, signal) => getJson(`${ofSession(project, adwId)}/files`, { signal, keep: false });
export const readFile = (project, adwId, path, range, signal) => getJson(`${ofSession(project, adwId)}/files/${path.split("/").map(encodeURIComponent).join("/")}${search(range)}`, { signal, keep: false });
export const archiveSession = (project, adwId, archived) => postJson(`${ofSession(project, adwId)}/archive`, { archived });

const lists = new WeakMap();

/** Dress each row once: an unchanged reply gives the very same rows, so nothing is drawn again. */
function listed(body) {
  if (!lists.has(body)) lists.set(body, body.map(dressed));
  return lists.get(body);
}

function dressed(session) {
  const began = moment(session.started_at) ?? 0;
  const owners = new Map((session.phases ?? []).map((phase) => [phase.phase_id, phase.kind === "agent" ? phase.owner : phase.kind]));
  const none = !session.total_tokens && !session.total_cost;
  // Tokens without a price are tokens whose price nobody knew.
  const cost = session.total_cost > 0 ? session.total_cost : none ? 0 : null;
  const said = session.failure?.text ?? (session.status === session.shown_status ? "" : session.shown_because);
  return {
    ...session,
    cost,
    money: moneyOfSession(session),
    // Nothing counted and no price: nobody told what was used.
    tokens: session.total_tokens === 0 && session.total_cost == null ? null : session.total_tokens,
    reason: explainError(said) || said,
    because: session.shown_because,
    markers: (session.marks ?? []).filter(([offset]) => offset != null).map(([offset, type, phase, ok]) => ({ at: began + offset, type, lane: owners.get(phase) ?? "session", ok })),
  };
}
