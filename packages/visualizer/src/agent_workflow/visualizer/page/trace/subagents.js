/**
 * Sub-agents: who they are, what they are nested in and when they worked. Pure: no DOM.
 *
 * Two writers, two forms. A sub-agent whose own record was imported has an `agent_start` below the call that started it, and its
 * calls name it. In a recorded stream its calls only say which call they belong to; that call says what it is for.
 */

/**
 * @typedef {{key: string, name: string, agent: string|null, parent: string|null, phase: string, turns: {start: number, end: number|null, event: object|null, tone: string}[]}} Sub
 *   `parent`: another sub-agent, null for the phase's own agent
 * @param {object[]} events slim events
 * @param {Map<string, object>} byId
 * @param {{phase_id: string, owner: string}[]} phases
 */
export class Subagents {
  constructor(events, byId, phases) {
    this.subs = new Map();
    this.byId = byId;
    this.owners = new Map(phases.map((phase) => [phase.phase_id, phase.owner]));
    this.calls = new Map();
    for (const event of events) if (event.callId) this.calls.set(event.callId, event);
    for (const event of events) if (event.type === "agent_start") this.begin(event);
    for (const event of events) {
      if (event.type === "agent_end") this.end(event);
      else if (event.parentCall) this.nest(event);
    }
    for (const sub of this.subs.values()) sub.parent = this.parentOf(sub);
  }

  /** The key of the sub-agent that an event is of, null for any other event. */
  of(event) {
    if (event.parentCall) return keyOfCall(event.parentCall);
    const key = keyOfAgent(event.phase, event.agent);
    return this.subs.has(key) ? key : null;
  }

  begin(event) {
    const above = this.byId.get(event.parent);
    const isNested = above?.type === "tool_call" || above?.type === "agent_start" || event.imported;
    if (!isNested || !event.agent || event.agent === this.owners.get(event.phase)) return;
    const sub = this.sub(keyOfAgent(event.phase, event.agent), event.agent, event.agent, event.phase);
    sub.above ??= above ?? null;
    sub.turns.push({ start: event.at, end: null, event, tone: "still" });
  }

  end(event) {
    const turn = this.subs.get(keyOfAgent(event.phase, event.agent))?.turns.find((one) => one.event.id === event.parent);
    if (turn) Object.assign(turn, { end: event.at, tone: event.answered == null ? "still" : event.answered ? "good" : "bad" });
  }

  nest(event) {
    const call = this.calls.get(event.parentCall) ?? null;
    const sub = this.sub(keyOfCall(event.parentCall), call?.purpose || "sub-agent", null, event.phase);
    sub.above ??= call;
    if (call && sub.turns.length === 0) sub.turns.push({ start: call.at, end: call.end ?? call.at, event: call, tone: call.ok == null ? "still" : call.ok ? "good" : "bad" });
    if (sub.turns.length === 0) sub.turns.push({ start: event.at, end: event.at, event: null, tone: "still" });
    const [turn] = sub.turns;
    turn.start = Math.min(turn.start, event.at);
    turn.end = Math.max(turn.end, event.end ?? event.at);
  }

  sub(key, name, agent, phase) {
    if (!this.subs.has(key)) this.subs.set(key, { key, name, agent, phase, above: null, parent: null, turns: [] });
    return this.subs.get(key);
  }

  /** What it is nested in; one that would be nested in itself belongs to the phase. */
  parentOf(sub) {
    const seen = new Set([sub.key]);
    const direct = sub.above ? this.of(sub.above) : null;
    for (let key = direct; key != null; ) {
      if (seen.has(key)) return null;
      seen.add(key);
      const above = this.subs.get(key)?.above;
      key = above ? this.of(above) : null;
    }
    return this.subs.has(direct) ? direct : null;
  }
}

function keyOfAgent(phase, agent) {
  return `sub:${phase}:${agent}`;
}

function keyOfCall(callId) {
  return `call:${callId}`;
}
