/** Lanes, blocks and marks: where everything of a trace is drawn. Pure: no DOM. */
import { moment } from "../core/format.js";
import { MOVING } from "../core/status.js";
import { bendAxis } from "./axis.js";
import { Subagents } from "./subagents.js";

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

/**
 * Engineer, code, then one lane an agent in order of appearance, each with its sub-agents below it.
 * @param {Subagents|null} nested
 * @param {(key: string, count: number) => boolean} isFolded whether the sub-agents of a lane are drawn in the lane itself
 */
export function lanesOf(phases, agents, nested = null, isFolded = () => false) {
  const lanes = new Map();
  const laneOf = (key, kind, name) => {
    if (!lanes.has(key)) lanes.set(key, { key, kind, name, phases: [], agent: null, depth: 0, turns: [], below: 0, folded: false });
    return lanes.get(key);
  };
  for (const kind of ["engineer", "code"]) if (phases.some((phase) => phase.kind === kind)) laneOf(kind, kind, kind);
  for (const phase of phases) {
    if (phase.kind === "engineer" || phase.kind === "code") laneOf(phase.kind, phase.kind, phase.kind).phases.push(phase);
    else laneOf(`agent:${phase.owner}`, "agent", phase.owner || "agent").phases.push(phase);
  }
  const subs = [...(nested?.subs.values() ?? [])];
  const named = new Set(subs.map((sub) => sub.agent).filter(Boolean));
  for (const agent of agents) if (!named.has(agent.agent)) laneOf(`agent:${agent.agent}`, "agent", agent.agent).agent = agent;
  const keyOfPhase = new Map([...lanes.values()].flatMap((lane) => lane.phases.map((phase) => [phase.phase_id, lane.key])));
  const children = new Map();
  for (const sub of subs) {
    const above = sub.parent ?? keyOfPhase.get(sub.phase);
    if (!children.has(above)) children.set(above, []);
    children.get(above).push(sub);
  }
  const place = (lane) => {
    const own = children.get(lane.key) ?? [];
    lane.below = own.length;
    lane.folded = own.length > 0 && isFolded(lane.key, own.length);
    if (lane.folded) return [lane];
    return [lane, ...own.flatMap((sub) => place({ key: sub.key, kind: "agent", name: sub.name, phases: [], agent: agents.find((one) => one.agent === sub.agent) ?? null, depth: lane.depth + 1, turns: sub.turns, below: 0, folded: false, nestedIn: lane.key, sub }))];
  };
  return [...lanes.values()].flatMap(place);
}

/**
 * @returns {{axis: any, lanes: object[], newest: number|null, extent: object}}
 */
export function drawn({ session, phases, agents, log, now, width, collapse, nested = null, isFolded }) {
  const extent = extentOf(session, phases, log, now);
  const spans = phases.map((phase) => spanOf(phase, extent, log)).filter(Boolean);
  extent.to = spans.reduce((most, span) => Math.max(most, span.end), extent.to);
  const axis = bendAxis(spans.length ? spans : [{ start: extent.from, end: extent.to }], { width, ...extent, collapse });
  const laneOfPhase = new Map();
  const lanes = lanesOf(phases, agents, nested, isFolded).map((lane) => {
    for (const phase of lane.phases) laneOfPhase.set(phase.phase_id, lane.key);
    const blocks = spans.filter((span) => lane.phases.includes(span.phase)).map((span) => blockOf(span, axis));
    const turns = lane.turns.map((turn) => turnOf(turn, axis, extent));
    return { ...lane, blocks, turns, marks: { tool: [], bad: [], good: [], hand: [], wait: [] } };
  });
  const byKey = new Map(lanes.map((lane) => [lane.key, lane]));
  for (const event of log?.events ?? []) {
    const lane = byKey.get(laneKey(event, nested, byKey)) ?? byKey.get(laneOfPhase.get(event.phase));
    if (!lane) continue;
    const sort = markOf(event, log);
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

/** The lane that an event is drawn in: its sub-agent's, or the nearest one above that is not folded away. */
function laneKey(event, nested, byKey) {
  let key = nested?.of(event) ?? null;
  while (key != null && !byKey.has(key)) key = nested.subs.get(key)?.parent ?? null;
  return key;
}

function turnOf(turn, axis, extent) {
  // A call is recorded when it returns: what it began is at work until then.
  const open = extent.moving && (turn.end == null || turn.event == null);
  const end = open ? extent.to : turn.end ?? extent.to;
  const x = axis.at(turn.start);
  return { ...turn, end, open, x, width: Math.max(6, axis.at(end) - x) };
}

function blockOf({ phase, start, end }, axis) {
  const x = axis.at(start);
  return { phase, start, end, x, width: Math.max(6, axis.at(end) - x) };
}

function markOf(event, log) {
  if (event.denied || event.retry || (event.type === "agent_end" && hasLooseDenial(event, log))) return "wait";
  if (event.problem) return "bad";
  if (event.type === "tool_call") return "tool";
  if (event.type === "gate_pass") return "good";
  if (event.type === "handoff") return "hand";
  return null;
}

/** A denial of a call that the stream never showed has no other place than the end that tells of it. */
function hasLooseDenial(event, log) {
  return (event.denials ?? []).some((denial) => !log.byCall.has(denial?.tool_call_id));
}
