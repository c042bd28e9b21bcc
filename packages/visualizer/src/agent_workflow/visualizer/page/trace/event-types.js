/** How each event type is shown. Types of newer writers are shown as they are. */
const TYPES = {
  phase_start: ["▸", "phase start", "still"],
  phase_end: ["◂", "phase end", "still"],
  agent_start: ["▹", "agent start", "still"],
  agent_end: ["◃", "agent end", "still"],
  tool_call: ["⌁", "tool", "still"],
  handoff: ["⇢", "handoff", "still"],
  gate_pass: ["✓", "gate passed", "good"],
  gate_fail: ["✗", "gate failed", "bad"],
  error: ["✗", "error", "bad"],
  log: ["·", "log", "still"],
};

export function typeOf(event) {
  if (event.denied) return { glyph: "⊘", word: "denied", tone: "wait" };
  if (event.retry) return { glyph: "↻", word: "retry", tone: "wait" };
  if (event.type === "tool_call" && event.problem) return { glyph: "✗", word: "tool failed", tone: "bad" };
  const [glyph, word, tone] = TYPES[event.type] ?? ["•", event.type, "still"];
  return { glyph, word, tone };
}

/** Choices of the filter: name, label, what passes. */
export const KINDS = [
  ["", "all events", () => true],
  ["problems", "errors only", (event) => event.problem],
  ["waits", "denials and retries", (event) => Boolean(event.denied) || event.retry],
  ["tool_call", "tool calls", (event) => event.type === "tool_call"],
  ["gates", "gates", (event) => event.type === "gate_pass" || event.type === "gate_fail"],
  ["agents", "agents and handoffs", (event) => ["agent_start", "agent_end", "handoff"].includes(event.type)],
  ["phases", "phases", (event) => event.type === "phase_start" || event.type === "phase_end"],
  ["log", "log", (event) => event.type === "log"],
];
