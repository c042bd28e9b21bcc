/** What a phase cost, in lines that add up by eye: four parts, reasoning inside output, one sum. */
import { html } from "../core/html.js";
import { count, exactMoney } from "../core/format.js";

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
  const price = (value) => (value == null ? html`<span class="unknown">unknown</span>` : exactMoney(value));
  return html`<table class="cost"><thead><tr><th scope="col">part</th><th scope="col" class="num">tokens</th><th scope="col" class="num">cost</th></tr></thead>
    <tbody>${itemised && LINES.map(([name, label]) => html`<tr key=${name}><th scope="row">${label}</th><td class="num">${count(row[`${name}_tokens`])}</td><td class="num">${price(row[`${name}_cost`])}</td></tr>
      ${name === "output" && thinking != null && html`<tr class="inside"><th scope="row" class="nested">of it reasoning</th><td class="num soft">${count(thinking)}</td><td class="num soft" title="its share of the output's cost">${thinkingCost == null ? "" : `≈ ${exactMoney(thinkingCost)}`}</td></tr>`}`)}
    </tbody>
    <tfoot><tr><th scope="row">sum</th><td class="num">${count(row.total_tokens)}</td><td class="num">${price(row.total_cost)}</td></tr></tfoot></table>
    ${!itemised && html`<p class="small soft">This run recorded the sum only, not its parts.</p>`}
    ${row.total_cost == null && html`<p class="small soft">Tokens were used, but no price was recorded: the cost is unknown, not zero.</p>`}`;
}
