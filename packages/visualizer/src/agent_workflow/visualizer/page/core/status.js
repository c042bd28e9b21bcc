/** Words of the trace and of the index, each with its glyph and the tone that carries its meaning. */

const KNOWN = {
  working: ["●", "live", "its process is alive, and something happened within the last minute"],
  running: ["●", "live", "its process is alive"],
  waiting: ["◐", "wait", "its process is alive, but it has been quiet for a minute or more"],
  stalled: ["◔", "wait", "its process is alive, but nothing has happened for ten minutes or more"],
  lost: ["☓", "lost", "it never ended: its process is gone"],
  success: ["✓", "good", "it ended cleanly and was accepted"],
  fail: ["✗", "bad", "it ended without success"],
  stopped: ["■", "still", "somebody stopped it"],
  queued: ["○", "still", "not started yet"],
  unknown: ["?", "still", "nothing says what became of it"],
};

// Words that evidence uses for the same few meanings.
const LIKE = {
  completed: "success", accepted: "success", reviewed: "success", pass: "success", passed: "success", valid: "success", ok: "success",
  verified: "success", resolved: "success", granted: "success", succeeded: "success", current: "success", closed: "success", ready: "queued",
  failed: "fail", error: "fail", invalid: "fail", rejected: "fail", denied: "fail", mismatch: "fail", killed: "fail", timed_out: "fail", critical: "fail", high: "fail",
  unreadable: "fail", open: "fail",
  active: "working", launched: "working", live: "working", in_progress: "working", launching: "working", starting: "working",
  pending: "waiting", recoverable: "waiting", blocked: "queued", eligible: "queued", prepared: "queued", interruption_requested: "waiting", requested: "queued", stale: "waiting", incomplete: "waiting", paused: "waiting", warning: "waiting", medium: "waiting", awaiting_review: "waiting",
  interrupted: "stopped", cancelled: "stopped", canceled: "stopped", skipped: "queued", planned: "queued", not_planned: "queued", missing: "unknown", unsealed: "unknown", low: "queued", info: "queued",
};

/**
 * @param {string|null|undefined} word
 * @returns {{word: string, glyph: string, tone: string, title: string}}
 */
export function statusOf(word) {
  const text = word || "unknown";
  const [glyph, tone, title] = KNOWN[text] ?? KNOWN[LIKE[text]] ?? ["•", "still", ""];
  return { word: text, glyph, tone, title: KNOWN[text] ? title : "" };
}

/** Shown statuses under which more may still happen. */
export const MOVING = new Set(["working", "running", "waiting", "stalled"]);
