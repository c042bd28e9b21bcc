/** The phases as a table: what each did, how long it took, what it cost; the last line adds up. */
import { html } from "../core/html.js";
import { count, exactMoney, moment, percent } from "../core/format.js";
import { oneLine, visible } from "../core/text.js";
import { StatusMark } from "../parts/status-mark.js";
import { Span } from "../parts/values.js";

export function PhasesTable({ trace, spend, selected, addressOfPhase, now, moving }) {
  const { phases, session, log } = trace;
  if (phases.length === 0) return html`<section class="phases-section"><h2>Phases</h2><p class="soft">No phase has started${moving ? " yet" : ""}.</p></section>`;
  const costs = new Map(spend.rows.map((row) => [row.phase.phase_id, row]));
  const calls = callsByPhase(log);
  const total = spend.total;
  const anyAgent = spend.rows.length > 0;
  const loose = session.cost != null && total.total_cost != null ? session.cost - total.total_cost : 0;
  return html`<section class="phases-section" aria-label="Phases and cost"><h2>Phases${anyAgent ? " and cost" : ""}</h2>
    <div class="scrolls" tabindex="0" role="group" aria-label="Phases and cost, scrollable"><table class="phases">
      <thead><tr>
        <th scope="col" class="num">#</th><th scope="col">status</th><th scope="col">phase</th><th scope="col">by</th><th scope="col" class="num">took</th>
        <th scope="col" class="num" title="repeats that were needed, of those allowed">retries</th><th scope="col" class="num">tool calls</th>
        ${anyAgent && html`<th scope="col" class="num">input</th><th scope="col" class="num">output</th><th scope="col" class="num">cache</th><th scope="col" class="num">tokens</th><th scope="col" class="num">cost</th><th scope="col" class="num">share</th>`}
      </tr></thead>
      <tbody>${phases.map((phase) => {
        const row = costs.get(phase.phase_id);
        const call = calls.get(phase.phase_id) ?? { all: 0, bad: 0 };
        const dead = session.shown_status === "lost" && phase.status === "running";
        const start = moment(phase.started_at);
        const end = moment(phase.ended_at) ?? (dead ? moment(session.last_event_at) : moving ? now : null);
        return html`<tr key=${phase.phase_id} class=${phase.phase_id === selected ? "picked" : ""}>
          <td class="num soft">${phase.seq}</td>
          <td><${StatusMark} word=${dead ? "lost" : phase.status} /></td>
          <td class="phase-name"><a href=${addressOfPhase(phase.phase_id)}>${visible(phase.name)}</a>
            ${phase.error ? html`<div class="small tone-bad wrap">${oneLine(phase.error, 240)}</div>` : html`<div class="small soft wrap">${oneLine(phase.description, 160)}</div>`}</td>
          <td>${visible(phase.owner)}<div class="small soft">${visible(phase.kind)}</div></td>
          <td class="num">${phase.started_at ? html`<${Span} ms=${end != null && start != null ? end - start : null} />` : html`<span class="soft">not started</span>`}</td>
          <td class="num">${phase.retries ? `${phase.attempt ?? 0} of ${phase.retries}` : html`<span class="soft">–</span>`}</td>
          <td class="num">${call.all ? count(call.all) : html`<span class="soft">–</span>`}${call.bad > 0 && html`<div class="small tone-bad">${count(call.bad)} failed</div>`}</td>
          ${anyAgent && (row ? costCells(row, total, phase, moving) : html`<td class="num soft" colspan="6"><span class="sr">no agent</span></td>`)}
        </tr>`;
      })}</tbody>
      ${anyAgent && html`<tfoot><tr><th scope="row" colspan="7">sum of the phases</th>
        <td class="num">${count(total.input_tokens)}</td><td class="num">${count(total.output_tokens)}${reasoning(total)}</td><td class="num">${count(plus(total.cache_read_tokens, total.cache_write_tokens))}</td>
        <td class="num">${count(total.total_tokens)}</td><td class="num">${exactMoney(total.total_cost)}</td><td></td></tr>
        ${Math.abs(loose) > 0.000001 && html`<tr><th scope="row" colspan="11" class="soft">the session says</th><td class="num">${exactMoney(session.cost)}</td><td></td></tr>`}
      </tfoot>`}
    </table></div></section>`;
}

function costCells(row, total, phase, moving) {
  if (!row.ended) return html`<td class="num soft" colspan="6">${phase.status === "running" && moving ? "known when the agent ends" : html`<span class="unknown">no agent_end was recorded: unknown</span>`}</td>`;
  const share = row.total_cost != null && total.total_cost ? row.total_cost / total.total_cost : null;
  return html`<td class="num">${count(row.input_tokens)}</td><td class="num">${count(row.output_tokens)}${reasoning(row)}</td>
    <td class="num" title=${`read ${count(row.cache_read_tokens)}, written ${count(row.cache_write_tokens)}`}>${count(plus(row.cache_read_tokens, row.cache_write_tokens))}</td>
    <td class="num">${count(row.total_tokens)}</td><td class="num">${row.total_cost == null ? html`<span class="unknown">unknown</span>` : exactMoney(row.total_cost)}</td>
    <td class="num share">${share == null ? html`<span class="soft">–</span>` : html`${percent(share)}<svg class="share-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=${share * 100} height="4" /></svg>`}</td>`;
}

function reasoning(row) {
  return row.reasoning_tokens ? html`<div class="small soft">${count(row.reasoning_tokens)} reasoning</div>` : null;
}

function plus(left, right) {
  return left == null || right == null ? null : left + right;
}

function callsByPhase(log) {
  const calls = new Map();
  for (const event of log?.events ?? []) {
    if (event.type !== "tool_call") continue;
    const entry = calls.get(event.phase) ?? { all: 0, bad: 0 };
    entry.all += 1;
    if (event.problem) entry.bad += 1;
    calls.set(event.phase, entry);
  }
  return calls;
}
