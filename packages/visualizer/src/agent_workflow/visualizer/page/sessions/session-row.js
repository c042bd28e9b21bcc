/** One session in the list: a row on wide screens, a card on narrow ones; the same facts. */
import { html } from "../core/html.js";
import { duration, moment } from "../core/format.js";
import { MOVING, statusOf } from "../core/status.js";
import { oneLine, visible } from "../core/text.js";
import { MoneyParts } from "../parts/money-parts.js";
import { StatusMark } from "../parts/status-mark.js";
import { Time, Tokens } from "../parts/values.js";
import { AgentTimeline } from "./agent-timeline.js";

export function SessionRow({ session, index, target, now, isNew, narrow, onArchive, onFocus }) {
  const moving = MOVING.has(session.shown_status);
  const reason = session.reason ? oneLine(session.reason, 200) : "";
  const title = oneLine(session.request, 400) || "no request was recorded";
  const none = !session.total_tokens && !session.total_cost && session.agents.length === 0;
  return html`<div class=${`session-row${narrow ? " card" : ""}`} role="row" aria-rowindex=${index + 2} data-status=${session.shown_status}>
    <div role="cell" class="c-status"><${StatusMark} word=${session.shown_status} />${isNew && html`<span class="new" title="since your last visit">new</span>`}</div>
    <div role="cell" class="c-what">
      <a class="row-link clip" href=${target} title=${title} data-row=${index} onFocus=${onFocus}>${title}</a>
      <div class="clip small soft" title=${[session.adw_id, session.adw_name, session.engineer, reason].filter(Boolean).map(visible).join(" · ")}>
        <span class="mono">${visible(session.adw_id)}</span>
        ${session.adw_name && html` · <bdi>${visible(session.adw_name)}</bdi>`}
        ${reason && html` · <span class=${`reason tone-${statusOf(session.shown_status).tone}`}>${reason}</span>`}
      </div>
    </div>
    <div role="cell" class="c-agents"><${AgentTimeline} session=${session} now=${now} /></div>
    <div role="cell" class="c-phases"><${PhaseDots} phases=${session.phases} lost=${session.shown_status === "lost"} /></div>
    <div role="cell" class="c-cost num"><span class="card-label">cost </span><${MoneyParts} parts=${session.money} none=${none} brief=${narrow} /></div>
    <div role="cell" class="c-tokens num"><span class="card-label">tokens </span>${none ? html`<span class="soft">–</span>` : html`<${Tokens} value=${session.tokens} />`}</div>
    <div role="cell" class="c-runtime num"><span class="card-label">runtime </span>${runtime(session, moving ? now : null)}</div>
    <div role="cell" class="c-started num"><${Time} at=${session.started_at} /></div>
    <div role="cell" class="c-action">
      <button type="button" class="plain small" aria-disabled=${moving ? "true" : undefined} onClick=${() => onArchive(session)}
        title=${moving ? "a session that is running cannot be archived" : session.archived ? "bring it back into the list" : "put it out of the list; nothing is deleted"}
        aria-label=${`${session.archived ? "restore" : "archive"} ${session.adw_id}`}>${session.archived ? "restore" : "archive"}</button>
    </div>
  </div>`;
}

/** How long it ran: to its end, to now while it runs, to the last sign of life when it is lost. */
export function runtime(session, now) {
  const from = moment(session.started_at);
  const to = moment(session.ended_at) ?? now ?? moment(session.last_event_at);
  return from == null || to == null ? html`<span class="unknown">unknown</span>` : duration(to - from);
}

/** One glyph a phase, in order; the words are in the label and the title. */
export function PhaseDots({ phases, lost }) {
  if (!phases.length) return html`<span class="unknown small">no phases</span>`;
  const words = phases.map((phase) => `${visible(phase.name)} ${lost && phase.status === "running" ? "lost" : phase.status}`);
  const most = 12;
  const shown = phases.slice(-most);
  return html`<span class="phase-dots" role="img" aria-label=${`phases: ${words.join(", ")}`} title=${words.join("\n")}>
    ${phases.length > most && html`<span class="soft small">+${phases.length - most} </span>`}
    ${shown.map((phase) => {
      const status = statusOf(lost && phase.status === "running" ? "lost" : phase.status);
      return html`<span class=${`mono tone-${status.tone}`}>${status.glyph}</span>`;
    })}
  </span>`;
}
