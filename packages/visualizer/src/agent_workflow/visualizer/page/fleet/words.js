/** Words that several fleet screens share. */
import { html } from "../core/html.js";
import { visible } from "../core/text.js";
import { address } from "../core/router.js";
import { StatusMark } from "../parts/status-mark.js";

/** An index status has words of its own; unreadable evidence is said first. */
export function RunStatus({ run }) {
  if (run.index_state === "error") return html`<${StatusMark} word="fail" title=${visible(run.index_error)} /><div class="small tone-bad">unreadable</div>`;
  return html`<${StatusMark} word=${run.durable_status} />`;
}

export function RunLink({ id, query }) {
  return html`<a href=${address(["fleet", "run", id], query)} class="mono words">${visible(id)}</a>`;
}

export function traceAddress(trace, projects = 2) {
  return trace ? address([...(trace.project && projects > 1 ? ["p", trace.project] : []), "s", trace.adw_id]) : null;
}

export function who(row) {
  if (!row.executor && !row.model) return html`<span class="unknown">unknown</span>`;
  return html`${visible(row.executor ?? "unknown")}<div class="small soft wrap">${visible(row.model ?? "model unknown")}</div>`;
}

export const ACTIVE = new Set(["running", "interruption_requested", "launched", "launching", "prepared", "starting", "active", "waiting", "paused", "blocked"]);
