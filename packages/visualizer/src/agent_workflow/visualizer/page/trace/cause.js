/** Why a run is where it is, in words, with the place to look at. */
import { duration, moment, plural } from "../core/format.js";
import { listOf, oneLine } from "../core/text.js";

const SIGNALS = { 129: "SIGHUP", 130: "SIGINT (interrupted from the keyboard)", 137: "SIGKILL", 143: "SIGTERM (asked to end)" };

/** A bare exit code of a process that a signal ended, said in words. */
export function explainError(text) {
  const named = Object.values(SIGNALS).find((words) => words.split(" ")[0] === (text ?? "").trim());
  if (named) return `ended by ${named}`;
  const code = /^\s*(?:exit(?:ed)?(?: code| status)?\s*)?-?(\d{1,3})\s*$/i.exec(text ?? "")?.[1];
  const signal = SIGNALS[code] ?? SIGNALS[128 + Number(code)];
  return code && signal ? `ended by ${signal}: exit code ${code}` : "";
}

/**
 * @returns {{tone: string, headline: string, lines: string[], phase: string|null, event: string|null}|null}
 */
export function causeOf({ session, phases, gates, events, processes, now }) {
  const shown = session.shown_status;
  if (shown === "success") return null;
  if (shown === "working" && session.because) return { tone: "live", headline: "It is at work, whatever is stored", lines: [session.because], ...placeOf(running(phases)) };
  if (shown === "lost") return lost(session, phases, processes, events);
  if (shown === "stalled") return stalled(session, phases, now);
  if (shown === "waiting") return { tone: "wait", headline: "It is alive, but quiet", lines: [session.because ?? ""].filter(Boolean), ...placeOf(running(phases)) };
  if (shown !== "fail") return null;
  return failed(session, phases, gates, events);
}

function failed(session, phases, gates, events) {
  const refused = [...events].reverse().find((event) => event.type === "error" && event.name === "not_accepted");
  const failedPhases = phases.filter((phase) => phase.status === "fail");
  const phase = failedPhases[failedPhases.length - 1];
  if (!phase) {
    if (refused) {
      const reason = refused.payload?.reason ?? refused.payload?.error ?? refused.label;
      return {
        tone: "bad",
        headline: `Every phase ended well, but the run was not accepted: ${oneLine(reason, 400)}`,
        lines: ["The workflow's last word decides, not its phases."],
        phase: refused.phase || null,
        event: refused.id,
      };
    }
    const error = [...events].reverse().find((event) => event.type === "error");
    if (error) return { tone: "bad", headline: oneLine(error.label, 400), lines: [], phase: error.phase || null, event: error.id };
    return { tone: "bad", headline: "It failed, and nothing recorded says why", lines: ["Every phase ended well, and there is no error event."], phase: null, event: null };
  }
  const error = [...events].reverse().find((event) => event.type === "error" && event.phase === phase.phase_id);
  const lines = [];
  const said = explainError(phase.error);
  if (said) lines.push(said);
  const last = gates.filter((gate) => gate.phase_id === phase.phase_id).reduce((most, gate) => Math.max(most, gate.attempt ?? 0), 0);
  const red = gates.filter((gate) => gate.phase_id === phase.phase_id && gate.attempt === last && gate.passed === 0);
  for (const gate of red) {
    for (const check of (listOf(gate.checks_json) ?? []).filter((one) => one?.ok === false)) lines.push(`gate ${gate.gate}: ${oneLine(check.item, 200)}: ${oneLine(check.note, 300)}`);
  }
  if (failedPhases.length > 1) lines.push(`${plural(failedPhases.length, "phase")} failed; this is the last one.`);
  return {
    tone: "bad",
    headline: `Phase ${phase.name} failed: ${oneLine((phase.error ?? "").split("\n")[0], 400).replace(/:$/, "") || "no reason was recorded"}`,
    lines,
    phase: phase.phase_id,
    event: error?.id ?? null,
  };
}

function lost(session, phases, processes, events) {
  const phase = running(phases);
  const gone = processes.filter((process) => process.kind !== "agent" && !process.ended_at).pop();
  const last = events.length ? events[events.length - 1] : null;
  const lines = [];
  if (gone) lines.push(`Its process ${gone.pid} (${oneLine(gone.command, 120)}) is ${gone.state === "recycled" ? "gone; the number belongs to another program now" : "gone"}, and it never wrote an end.`);
  else lines.push("No living process belongs to it, and it never wrote an end.");
  lines.push("Most often it was killed (SIGKILL), or the machine went down.");
  const began = moment(session.started_at);
  const seen = moment(session.last_event_at) ?? last?.at ?? null;
  const after = began != null && seen != null ? ` ${duration(seen - began)} after its start` : "";
  return {
    tone: "lost",
    headline: `This run is dead: the last sign of life came${after}${phase ? `, in phase ${phase.name}` : ""}`,
    lines,
    ...placeOf(phase),
    event: last?.id ?? null,
  };
}

function stalled(session, phases, now) {
  const phase = running(phases);
  const seen = moment(session.last_event_at);
  const age = seen == null ? "a while" : duration(now - seen);
  return { tone: "wait", headline: `Nothing has happened for ${age}${phase ? `, in phase ${phase.name}` : ""}`, lines: [session.because || "Its process is alive."], ...placeOf(phase) };
}

function running(phases) {
  return [...phases].reverse().find((phase) => phase.status === "running");
}

function placeOf(phase) {
  return { phase: phase?.phase_id ?? null, event: null };
}
