/** What a phase cost, in lines that add up by eye: four parts, reasoning inside output, one sum. */
import { html } from "../core/html.js";
import { count, exactMoney } from "../core/format.js";
import { MoneyParts } from "../parts/money-parts.js";

const LINES = [
  ["input", "input"],
  ["output", "output"],
  ["cache_read", "cache read"],
  ["cache_write", "cache write"],
];

export function CostTable({ row, open }) {
  if (!row.ended) return html`<p class="soft">${open ? "Known when the agent ends." : "The agent's end was not recorded, nor what this phase cost."}</p>`;
  const itemised = LINES.some(([name]) => row[`${name}_tokens`] != null);
  const thinking = row.reasoning_tokens;
  const thinkingCost = thinking != null && row.output_tokens > 0 && row.output_cost != null ? (row.output_cost * thinking) / row.output_tokens : null;
  const isUnknown = row.money.some((part) => part.kind === "unknown");
  const price = (value) => (value == null ? html`<span class="unknown">unknown</span>` : exactMoney(value));
  return html`<table class="cost"><thead><tr><th scope="col">part</th><th scope="col" class="num">tokens</th><th scope="col" class="num">cost</th></tr></thead>
    <tbody>${itemised && LINES.map(([name, label]) => html`<tr key=${name}><th scope="row">${label}</th><td class="num">${count(row[`${name}_tokens`])}</td><td class="num">${row[`${name}_cost`] == null && !isUnknown ? html`<span class="soft" title="told as a sum only">–</span>` : price(row[`${name}_cost`])}</td></tr>
      ${name === "output" && thinking != null && html`<tr class="inside"><th scope="row" class="nested">of it reasoning</th><td class="num soft">${count(thinking)}</td><td class="num soft" title="its share of the output's cost">${thinkingCost == null ? "" : `≈ ${exactMoney(thinkingCost)}`}</td></tr>`}`)}
    </tbody>
    <tfoot><tr><th scope="row">sum</th><td class="num">${count(row.total_tokens)}</td><td class="num"><${MoneyParts} parts=${row.money} exact /></td></tr></tfoot></table>
    ${!itemised && row.total_tokens != null && html`<p class="small soft">This run recorded the sum only, not its parts.</p>`}
    ${row.partial && html`<p class="small soft">A lower bound: the agent did not tell all of what it used.</p>`}
    ${row.subagents != null && html`<p class="small soft">${count(row.subagents)} of these tokens are of sub-agents; they count once.</p>`}
    ${isUnknown && html`<p class="small soft">${row.total_tokens ? "Tokens were used, but no price was recorded" : "What was used is not recorded"}: the cost is unknown, not zero.</p>`}
    ${row.money.length > 1 && html`<p class="small soft">Different kinds of money, which are never added.</p>`}`;
}
