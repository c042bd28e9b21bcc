/** The phases as a table: what each did, how long it took, what it cost; the last line adds up. */
import { html } from "../core/html.js";
import { count, duration, moment, percent } from "../core/format.js";
import { oneLine, visible } from "../core/text.js";
import { MoneyParts } from "../parts/money-parts.js";
import { StatusMark } from "../parts/status-mark.js";

const dash = () => html`<span class="soft">–</span>`;

export function PhasesTable({ trace, spend, selected, addressOfPhase, now, moving }) {
  const { phases, session, log } = trace;
  if (phases.length === 0) return html`<section class="phases-section"><h2>Phases</h2><p class="soft">No phase has started${moving ? " yet" : ""}.</p></section>`;
  const costs = new Map(spend.rows.map((row) => [row.phase.phase_id, row]));
  const calls = callsByPhase(log);
  const anyAgent = spend.rows.length > 0;
  return html`<section class="phases-section" aria-label="Phases and cost"><h2>Phases${anyAgent ? " and cost" : ""}</h2>
    <div class="scrolls" tabindex="0" role="group" aria-label="Phases and cost, scrollable"><table class="phases">
      <thead><tr>
        <th scope="col" class="num c-less">#</th><th scope="col">status</th><th scope="col">phase</th><th scope="col" class="c-less">by</th><th scope="col" class="num">took</th>
        <th scope="col" class="num c-less c-rare" title="repeats that were needed, of those allowed">retries</th><th scope="col" class="num c-less">tool calls</th>
        ${anyAgent && html`<th scope="col" class="num c-part">input</th><th scope="col" class="num c-part">output</th><th scope="col" class="num c-part">cache</th><th scope="col" class="num c-less">tokens</th><th scope="col" class="num">cost</th><th scope="col" class="num c-less c-rare">share</th>`}
      </tr></thead>
      <tbody>${phases.map((phase) => html`<${PhaseRow} key=${phase.phase_id} phase=${phase} session=${session} row=${costs.get(phase.phase_id)} call=${calls.get(phase.phase_id)} total=${spend.total} anyAgent=${anyAgent} picked=${phase.phase_id === selected} target=${addressOfPhase(phase.phase_id)} moving=${moving} now=${now} reading=${trace.reading} />`)}</tbody>
      ${anyAgent && !trace.reading && html`<${Sums} session=${session} spend=${spend} />`}
    </table></div></section>`;
}

function PhaseRow({ phase, session, row, call, total, anyAgent, picked, target, moving, now, reading }) {
  const dead = session.shown_status === "lost" && phase.status === "running";
  const start = moment(phase.started_at);
  const end = moment(phase.ended_at) ?? (dead ? moment(session.last_event_at) : moving ? now : null);
  return html`<tr class=${picked ? "picked" : ""}>
    <td class="num soft c-less">${phase.seq}</td>
    <td><${StatusMark} word=${dead ? "lost" : phase.status} /></td>
    <td class="phase-name"><a href=${target}>${visible(phase.name)}</a><div class="small soft wide-only">${visible(phase.owner)}${call?.bad ? html` · <span class="tone-bad">${count(call.bad)} failed</span>` : ""}</div>
      ${phase.error ? html`<div class="small tone-bad wrap">${oneLine(phase.error, 240)}</div>` : html`<div class="small soft wrap">${oneLine(phase.description, 160)}</div>`}</td>
    <td class="c-less">${visible(phase.owner)}<div class="small soft">${visible(phase.kind)}</div></td>
    <td class="num">${start == null ? html`<span class="soft">not started</span>` : end == null ? html`<span class="unknown">unknown</span>` : duration(end - start)}</td>
    <td class="num c-less c-rare">${phase.retries ? `${phase.attempt ?? 0} of ${phase.retries}` : dash()}</td>
    <td class="num c-less">${call ? count(call.all) : dash()}${call?.bad ? html`<div class="small tone-bad">${count(call.bad)} failed</div>` : null}</td>
    ${anyAgent && html`<${CostCells} row=${row} total=${total} open=${phase.status === "running" && moving} reading=${reading} />`}
  </tr>`;
}

function CostCells({ row, total, open, reading }) {
  if (!row) return html`<td class="c-part"></td><td class="c-part"></td><td class="c-part"></td><td class="c-less"></td><td></td><td class="c-less c-rare"></td>`;
  const share = shareOf(row, total);
  const word = reading ? html`<span class="soft" title="still reading the events">…</span>` : open ? html`<span class="soft" title="known when the agent ends">not yet</span>` : html`<span class="unknown" title="the agent's end was not recorded, nor what this phase cost">unknown</span>`;
  const tokens = (value) => (row.ended ? amount(value) : dash());
  return html`<td class="num c-part">${tokens(row.input_tokens)}</td><td class="num c-part">${tokens(row.output_tokens)}${reasoning(row)}</td>
    <td class="num c-part" title=${`read ${count(row.cache_read_tokens)}, written ${count(row.cache_write_tokens)}`}>${tokens(plus(row.cache_read_tokens, row.cache_write_tokens))}</td>
    <td class="num c-less">${row.ended ? atLeast(row) : word}</td><td class="num">${row.ended ? html`<${MoneyParts} parts=${row.money} exact />` : word}</td>
    <td class="num share c-less c-rare">${share == null ? dash() : html`${percent(share)}<svg class="share-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=${share * 100} height="4" /></svg>`}</td>`;
}

/** The sum of the phases; and the session's own total where it says something else, or more. */
function Sums({ session, spend }) {
  const { total, rows } = spend;
  const unlike = session.cost > 0 && (total.total_cost == null || Math.abs(session.cost - total.total_cost) > 0.000001);
  return html`<tfoot>
    ${rows.some((row) => row.ended) && html`<tr><td class="c-less"></td><td></td><th scope="row">sum of the phases</th><td class="c-less"></td><td></td><td class="c-less c-rare"></td><td class="c-less"></td>
      <td class="num c-part">${amount(total.input_tokens)}</td><td class="num c-part">${amount(total.output_tokens)}${reasoning(total)}</td><td class="num c-part">${amount(plus(total.cache_read_tokens, total.cache_write_tokens))}</td>
      <td class="num c-less">${amount(total.total_tokens)}</td><td class="num"><${MoneyParts} parts=${total.money} exact /></td><td class="c-less c-rare"></td></tr>`}
    ${unlike && html`<tr><td class="c-less"></td><td></td><th scope="row">the session as a whole</th><td class="c-less"></td><td></td><td class="c-less c-rare"></td><td class="c-less"></td>
      <td class="c-part"></td><td class="c-part"></td><td class="c-part"></td><td class="num c-less">${amount(session.total_tokens)}</td><td class="num"><${MoneyParts} parts=${session.money} exact /></td><td class="c-less c-rare"></td></tr>`}
  </tfoot>`;
}

/** A share of money exists only where all of it is of one kind. */
function shareOf(row, total) {
  if (total.money.length !== 1 || row.money.length !== 1) return null;
  const [part, whole] = [row.money[0].amount, total.money[0].amount];
  return part != null && whole ? part / whole : null;
}

function atLeast(row) {
  return row.partial ? html`<span title="the numbers are a lower bound: not all of it was told">≥ ${amount(row.total_tokens)}</span>` : amount(row.total_tokens);
}

function amount(value) {
  return value == null ? html`<span class="unknown">unknown</span>` : count(value);
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
