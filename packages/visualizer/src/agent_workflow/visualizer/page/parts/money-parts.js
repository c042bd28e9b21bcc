/** Money, each kind with its sign and its word: only what was billed stands without one. */
import { html } from "../core/html.js";
import { count, exactMoney, money } from "../core/format.js";
import { oneLine } from "../core/text.js";

/**
 * @param {{parts: object[], exact?: boolean, none?: boolean}} props
 *   `exact`: for columns that must add up by eye; `none`: no agent was called; `brief`: with short words, where there is little room
 */
export function MoneyParts({ parts, exact = false, none = false, brief = false }) {
  if (none) return html`<span class="soft" title="no agent was called">–<span class="sr">nothing spent</span></span>`;
  return html`<span class="money">${parts.map((one) => html`<${One} key=${one.kind} part=${one} brief=${brief} write=${exact ? exactMoney : money} />`)}</span>`;
}

function One({ part, brief, write }) {
  const { kind, amount, tokens, catalogue } = part;
  if (kind === "unknown") return html`<span class="money-part"><span class="unknown" title=${tokens ? `${count(tokens)} tokens were used, and nobody told their price` : "no price was recorded"}>unknown</span></span>`;
  const list = oneLine(catalogue, 80) || "a price list";
  if (kind === "billed") return amount == null
    ? html`<span class="money-part" title="a part was billed as the agent reported it; the session's calls say how much"><span class="basis">part billed</span></span>`
    : html`<span class="money-part num" title=${`billed: the agent reported ${amount}`}>${write(amount)}</span>`;
  const [word, said] = kind === "estimated"
    ? [brief ? "est." : "estimated", `estimated with ${list}: the agent reported no cost`]
    : [brief ? "plan" : "subscription", amount == null ? "covered by a subscription; its list price is not known" : `covered by a subscription; this is the list price, by ${list}`];
  return html`<span class="money-part" title=${said}>${amount == null ? "" : html`<span class="num">≈${write(amount)}</span> `}<span class="basis">${word}</span></span>`;
}
