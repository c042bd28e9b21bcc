/** The head of a trace: status, request, and the figures. */
import { html } from "../core/html.js";
import { readEvidence } from "../core/endpoints.js";
import { count } from "../core/format.js";
import { usePolled } from "../core/polling.js";
import { MOVING } from "../core/status.js";
import { limited, visible } from "../core/text.js";
import { RunLink } from "../fleet/words.js";
import { CopyButton } from "../parts/copy-button.js";
import { MoneyParts } from "../parts/money-parts.js";
import { StatusMark } from "../parts/status-mark.js";
import { Time, Tokens } from "../parts/values.js";
import { runtime } from "../sessions/session-row.js";

const EVIDENCE_MS = 5000;

export function Summary({ project, trace, now, said, onArchive, spend }) {
  const { session, usage } = trace;
  const moving = MOVING.has(session.shown_status);
  const none = !session.total_tokens && !session.total_cost && trace.agents.length === 0;
  return html`<header class="summary">
    <div class="summary-title">
      <${StatusMark} word=${session.shown_status} chip title=${session.because || undefined} />
      <h1 class="wrap">${limited(session.request, 4000) || html`<span class="unknown">no request was recorded</span>`}</h1>
    </div>
    <dl class="facts">
      <div><dt>session</dt><dd><span class="mono">${visible(session.adw_id)}</span> <${CopyButton} text=${session.adw_id} what="session id" /></dd></div>
      <${PublishedRun} project=${project} adwId=${session.adw_id} />
      <div><dt>workflow</dt><dd>${visible(session.adw_name) || html`<span class="unknown">unknown</span>`}</dd></div>
      <div><dt>engineer</dt><dd>${visible(session.engineer) || html`<span class="unknown">unknown</span>`}</dd></div>
      <div><dt>started</dt><dd><${Time} at=${session.started_at} /></dd></div>
      <div><dt>${session.shown_status === "lost" ? "last sign of life after" : moving ? "running for" : "runtime"}</dt><dd class="num">${runtime(session, moving ? now : null)}</dd></div>
      <div><dt>cost</dt><dd><${MoneyParts} parts=${told(session, trace, spend)} none=${none} /></dd></div>
      <div><dt title="everything that was billed, over all turns; not the size of the conversation">tokens</dt><dd>${none ? html`<span class="soft">–</span>` : html`<span class=${session.tokens == null ? "unknown" : "num"}>${count(session.tokens)}</span>`}</dd></div>
      ${usage && !none && (usage.read > 0 || usage.written > 0) && html`<div><dt title="read for the first time: input and cache writes; cache reads left out">read</dt><dd><${Tokens} value=${usage.read} /></dd></div>
      <div><dt title="output, reasoning included">written</dt><dd><${Tokens} value=${usage.written} /></dd></div>`}
      <div class="summary-actions"><dt class="sr">actions</dt><dd>
        <button type="button" onClick=${onArchive} aria-disabled=${moving ? "true" : undefined} title=${moving ? "a session that is running cannot be archived" : session.archived ? "bring it back into the list" : "put it out of the list; nothing is deleted"}>${session.archived ? "restore" : "archive"}</button>
        ${session.archived ? html` <span class="soft small">archived</span>` : null} <span class="soft small">${visible(said)}</span>
      </dd></div>
    </dl>
  </header>`;
}

/** The row's money; where it does not say how much of it was billed, what its calls add up to. */
function told(session, trace, spend) {
  const isWhole = session.money.every((part) => part.kind !== "billed" || part.amount != null);
  return isWhole || trace.reading || spend.total.money.length === 0 ? session.money : spend.total.money;
}

/** The run of the fleet that this session was published as, where the index knows one. */
function PublishedRun({ project, adwId }) {
  const { data } = usePolled(`evidence/${project}/${adwId}`, (signal) => readEvidence(project, adwId, signal), () => EVIDENCE_MS);
  if (data?.state !== "indexed") return null;
  return html`<div><dt>evidence</dt><dd><${RunLink} id=${data.session_id} /></dd></div>`;
}
