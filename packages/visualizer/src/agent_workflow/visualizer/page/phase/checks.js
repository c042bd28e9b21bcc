/** What a gate looked at, item by item. Looking at nothing, and not having written down what was looked at, are different things. */
import { html } from "../core/html.js";
import { plural } from "../core/format.js";
import { limited, pretty } from "../core/text.js";

/**
 * @param {{checks: object[]|null, violations: string[], passed: boolean|null}} props `checks` null: nothing was written down
 */
export function Checks({ checks, violations, passed }) {
  const items = Array.isArray(checks) ? checks : null;
  const said = (Array.isArray(violations) ? violations : []).map(pretty);
  const loose = said.filter((text) => !(items ?? []).some((one) => one?.ok === false && text.startsWith(`${one.item}`)));
  return html`<div class="checks">
    ${items == null && html`<p class="note tone-wait"><strong>No evidence recorded.</strong> This gate said ${passed ? "yes" : "no"}, but what it looked at was not written down.</p>`}
    ${items?.length === 0 && html`<p class="note tone-wait"><strong>Inspected nothing.</strong> ${passed ? "It passed because there was nothing to look at." : "It found nothing to look at."}</p>`}
    ${items?.length > 0 && html`<table><caption class="sr">${plural(items.length, "item")}</caption><thead><tr><th scope="col">found</th><th scope="col">item</th><th scope="col">note</th></tr></thead>
      <tbody>${[...items].sort((left, right) => Number(left?.ok === true) - Number(right?.ok === true)).map((check, index) => html`<tr key=${index}>
        <td class=${check?.ok ? "tone-good" : "tone-bad"}>${check?.ok ? "✓ good" : "✗ not good"}</td><td class="mono wrap">${limited(check?.item, 20_000)}</td><td class="wrap">${limited(check?.note, 20_000)}</td></tr>`)}</tbody></table>`}
    ${loose.map((text, index) => html`<p key=${index} class="wrap tone-bad">${limited(text, 20_000)}</p>`)}
  </div>`;
}
