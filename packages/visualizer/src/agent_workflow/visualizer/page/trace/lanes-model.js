/** Lanes, blocks and marks: where everything of a trace is drawn. Pure: no DOM. */
import { moment } from "../core/format.js";
import { MOVING } from "../core/status.js";
import { bendAxis } from "./axis.js";

/** When the trace begins, and where its right end is: now while it moves, else its last sign of life. */
export function extentOf(session, phases, log, now) {
  const moving = MOVING.has(session.shown_status);
  const newest = log?.newest ? log.newest.end ?? log.newest.at : null;
  const known = [moment(session.started_at), moment(session.ended_at), newest, ...phases.flatMap((phase) => [moment(phase.started_at), moment(phase.ended_at)])].filter((time) => time != null);
  const from = known.length ? Math.min(...known) : now;
  const last = known.length ? Math.max(...known) : now;
  return { from, to: Math.max(moving ? now : last, from + 1), moving };
}

/** A phase with the moments it is drawn between. */
export function spanOf(phase, extent, log) {
  const start = moment(phase.started_at);
  if (start == null) return null;
  const stored = moment(phase.ended_at);
  // What took no measurable time still gets its block.
  if (stored != null) return { phase, start, end: Math.max(start + 0.4, stored) };
  if (phase.status === "running") return { phase, start, end: Math.max(start + 0.4, extent.to) };
  return { phase, start, end: lastEventOf(phase, log) ?? start };
}

function lastEventOf(phase, log) {
  const events = log?.events ?? [];
  for (let index = events.length - 1; index >= 0; index -= 1) if (events[index].phase === phase.phase_id) return events[index].at;
  return null;
}

/** Engineer, code, then one lane an agent in order of appearance. */
export function lanesOf(phases, agents) {
  const lanes = new Map();
  const laneOf = (key, kind, name) => {
    if (!lanes.has(key)) lanes.set(key, { key, kind, name, phases: [], agent: null });
    return lanes.get(key);
  };
  for (const kind of ["engineer", "code"]) if (phases.some((phase) => phase.kind === kind)) laneOf(kind, kind, kind);
  for (const phase of phases) {
    if (phase.kind === "engineer" || phase.kind === "code") laneOf(phase.kind, phase.kind, phase.kind).phases.push(phase);
    else laneOf(`agent:${phase.owner}`, "agent", phase.owner || "agent").phases.push(phase);
  }
  for (const agent of agents) laneOf(`agent:${agent.agent}`, "agent", agent.agent).agent = agent;
  return [...lanes.values()];
}

/**
 * @returns {{axis: any, lanes: object[], newest: number|null, extent: object}}
 */
export function drawn({ session, phases, agents, log, now, width, collapse }) {
  const extent = extentOf(session, phases, log, now);
  const spans = phases.map((phase) => spanOf(phase, extent, log)).filter(Boolean);
  extent.to = spans.reduce((most, span) => Math.max(most, span.end), extent.to);
  const axis = bendAxis(spans.length ? spans : [{ start: extent.from, end: extent.to }], { width, ...extent, collapse });
  const laneOfPhase = new Map();
  const lanes = lanesOf(phases, agents).map((lane) => {
    for (const phase of lane.phases) laneOfPhase.set(phase.phase_id, lane.key);
    const blocks = spans.filter((span) => lane.phases.includes(span.phase)).map((span) => blockOf(span, axis));
    return { ...lane, blocks, marks: { tool: [], bad: [], good: [], hand: [] } };
  });
  const byKey = new Map(lanes.map((lane) => [lane.key, lane]));
  for (const event of log?.events ?? []) {
    const lane = byKey.get(laneOfPhase.get(event.phase));
    if (!lane) continue;
    const sort = markOf(event);
    if (!sort) continue;
    const list = lane.marks[sort];
    const x = Math.round(axis.at(event.at) * 2) / 2;
    // Marks on the same half pixel are one mark; the first of them is what a press opens.
    if (list.length === 0 || list[list.length - 1].x !== x) list.push({ x, event, more: 0 });
    else list[list.length - 1].more += 1;
  }
  const newest = log?.newest ? axis.at(log.newest.end ?? log.newest.at) : null;
  return { axis, lanes, newest, extent };
}

function blockOf({ phase, start, end }, axis) {
  const x = axis.at(start);
  return { phase, start, end, x, width: Math.max(6, axis.at(end) - x) };
}

function markOf(event) {
  if (event.problem) return "bad";
  if (event.type === "tool_call") return "tool";
  if (event.type === "gate_pass") return "good";
  if (event.type === "handoff") return "hand";
  return null;
}
