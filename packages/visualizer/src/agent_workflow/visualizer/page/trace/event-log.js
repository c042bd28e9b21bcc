/**
 * The events of one session as they come in: no one lost, no one twice. The cursor is the highest rowid seen; when the
 * database says that its rowids have started again, everything is read again from the start.
 */
import { moment } from "../core/format.js";
import { listOf, oneLine, parsed, pretty } from "../core/text.js";

// So many characters of payloads stay in memory; beyond it a payload is fetched again when somebody looks at it.
const TEXT_BUDGET = 4_000_000;
/** Few, and the screens add them up or explain with them. */
const ALWAYS_KEPT = new Set(["agent_start", "agent_end", "error"]);
/** How agents call it that they try again by themselves. */
const RETRIES = /(^|_)retry(_start|_scheduled)?$|^reconnecting$/;

export class EventLog {
  constructor() {
    this.reset();
  }

  reset() {
    this.generation = "";
    this.anchor = "";
    this.cursor = 0;
    this.settled = false;
    this.events = [];
    this.byId = new Map();
    this.version = (this.version ?? 0) + 1;
    this.text = 0;
    this.problems = [];
    this.byCall = new Map();
    this.denials = new Map();
    this.newest = null;
  }

  /**
   * Take in a page. A page that says "reset" starts again from the first event.
   * @returns {boolean} whether there is more to read at once
   */
  absorb(page) {
    if (page.reset) this.reset();
    this.generation = page.generation;
    this.anchor = page.anchor;
    for (const row of page.events) {
      if (row.rowid <= this.cursor || this.byId.has(row.event_id)) continue;
      this.add(this.slim(row));
    }
    this.cursor = Math.max(this.cursor, page.cursor);
    if (page.events.length > 0 || page.reset) this.version += 1;
    this.settled = !page.has_more;
    return page.has_more;
  }

  add(event) {
    this.events.push(event);
    this.byId.set(event.id, event);
    if (event.callId) this.byCall.set(event.callId, event);
    for (const denial of event.denials ?? []) this.deny(denial);
    if (this.denials.has(event.callId)) event.denied = this.denials.get(event.callId);
    if (event.problem) this.problems.push(event);
    if (!this.newest || (event.end ?? event.at) >= (this.newest.end ?? this.newest.at)) this.newest = event;
  }

  /** The end of an agent says which of its calls were denied, mostly after they were recorded. */
  deny(denial) {
    if (typeof denial?.tool_call_id !== "string" || !denial.tool_call_id) return;
    this.denials.set(denial.tool_call_id, denial);
    const call = this.byCall.get(denial.tool_call_id);
    if (call) call.denied = denial;
  }

  /** Keep what the screens show; drop long payloads once the budget is spent. */
  slim(row) {
    const text = row.payload_json ?? "";
    const payload = parsed(text);
    const facts = payload && typeof payload === "object" ? payload : {};
    const cut = Boolean(row.payload_cut) || !(payload && typeof payload === "object");
    const ok = facts.ok ?? (row.ok == null ? null : row.ok === 1); // beside a payload that is too long to be taken apart
    const keep = ALWAYS_KEPT.has(row.type) || facts.input != null || this.text < TEXT_BUDGET;
    if (keep) this.text += text.length;
    const at = moment(row.started_at) ?? 0;
    const end = moment(row.ended_at);
    return {
      rowid: row.rowid,
      id: row.event_id,
      phase: row.phase_id,
      parent: row.parent_id,
      type: row.type || "unknown",
      name: row.name ?? "",
      label: labelOf(row, facts),
      at,
      end,
      startedAt: row.started_at,
      took: end != null && at ? end - at : numberOrNull(facts.duration_ms),
      tokens: row.tokens,
      ok,
      problem: isProblem(row.type, ok),
      denied: null,
      retry: row.type === "log" && RETRIES.test(row.name ?? ""),
      ...whose(row, facts),
      size: row.payload_size ?? text.length,
      cut,
      payload: keep ? facts : null,
    };
  }
}

/** Who did it: the agent that the event names, the call it is nested in, what an agent's end tells of it. */
function whose(row, facts) {
  if (row.type === "tool_call") {
    const args = facts.args && typeof facts.args === "object" ? facts.args : {};
    const purpose = [args.subagent_type ?? args.agent, args.description].filter((text) => typeof text === "string").join(": ");
    return { agent: textOf(facts.agent), callId: textOf(facts.tool_call_id), parentCall: textOf(facts.parent_tool_call_id), purpose: oneLine(purpose, 80) };
  }
  if (row.type === "agent_start") return { agent: textOf(row.name), imported: facts.imported === true };
  if (row.type !== "agent_end") return {};
  const sends = listOf(facts.sends) ?? [];
  const last = sends[sends.length - 1]?.verdict;
  return {
    agent: textOf(facts.agent) ?? textOf(row.name),
    answered: typeof last === "string" ? last === "answered" : null,
    denials: sends.flatMap((send) => listOf(send?.denials) ?? []),
    retries: sends.reduce((sum, send) => sum + (numberOrNull(send?.retries) ?? 0), 0),
  };
}

function textOf(value) {
  return typeof value === "string" && value ? value : null;
}

/** What counts as an error when somebody asks for the next one. */
function isProblem(type, ok) {
  return type === "error" || type === "gate_fail" || (type === "tool_call" && ok === false);
}

const MAIN_ARGUMENTS = ["command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt", "description"];

function labelOf(row, facts) {
  if (row.type === "tool_call") {
    const args = facts.args && typeof facts.args === "object" ? facts.args : {};
    const main = MAIN_ARGUMENTS.find((name) => args[name] != null);
    if (main) return oneLine(`${facts.tool ?? row.name}: ${args[main]}`, 160);
    return oneLine(row.name || facts.tool || "", 160);
  }
  if (row.type === "log") {
    if (typeof facts.message === "string") return oneLine(facts.message, 240);
    if (facts.input != null) return oneLine(`request: ${facts.input}`, 240);
    const pairs = Object.entries(facts).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    return oneLine(pairs.join(" · ") || row.name, 240);
  }
  if (row.type === "error") return oneLine([row.name === "not_accepted" ? "not accepted" : "", facts.error ?? facts.reason ?? row.name].filter(Boolean).join(": "), 240);
  if (row.type === "gate_fail") return oneLine([row.name, ...(listOf(facts.violations) ?? []).map(pretty)].join(" · "), 240);
  if (row.type === "gate_pass") {
    const checks = facts.checks;
    const looked = Array.isArray(checks) ? (checks.length ? `${checks.length} checked` : "inspected nothing") : "no evidence recorded";
    return oneLine(`${row.name} · ${looked}`, 240);
  }
  if (row.type === "handoff") return oneLine([facts.summary, ...(listOf(facts.artifacts) ?? []).map(pretty)].filter(Boolean).join(" · ") || row.name, 240);
  if (row.type === "agent_start") return oneLine([row.name, facts.model, facts.coding_agent].filter(Boolean).join(" · "), 240);
  if (row.type === "phase_end") return oneLine(`${row.name} · ${facts.status ?? ""}`, 240);
  return oneLine(row.name, 240);
}

function numberOrNull(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
