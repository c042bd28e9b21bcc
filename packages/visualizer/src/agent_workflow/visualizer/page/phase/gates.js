/** The gates of a phase, attempt by attempt. */
import { html } from "../core/html.js";
import { plural } from "../core/format.js";
import { limited, listOf } from "../core/text.js";
import { Time } from "../parts/values.js";
import { Checks } from "./checks.js";

const OUTCOMES = {
  passed: ["✓", "passed", "good"],
  failed: ["✗", "failed", "bad"],
  not_observed: ["?", "could not tell", "wait"],
};

export function Gates({ gates }) {
  return html`<ol class="stack">${gates.map((gate) => {
    const [glyph, word, tone] = OUTCOMES[gate.outcome] ?? OUTCOMES.not_observed;
    const list = gate.checks_json == null ? null : listOf(gate.checks_json);
    const bad = (list ?? []).filter((one) => one?.ok === false).length;
    const said = list == null ? "no evidence recorded" : list.length === 0 ? "inspected nothing" : bad ? `${bad} of ${plural(list.length, "item")} not good` : `${plural(list.length, "item")} checked`;
    return html`<li key=${gate.id}><details class="gate" open=${gate.outcome !== "passed" || list == null || list.length === 0}>
      <summary><span class=${`status tone-${tone}`}><span class="glyph" aria-hidden="true">${glyph}</span>${word}</span>${" "}<strong>${limited(gate.gate, 200)}</strong>${" "}<span class="soft small">attempt ${gate.attempt ?? "?"} · ${said} · <${Time} at=${gate.created_at} form="clock" /></span></summary>
      <${Checks} checks=${list} violations=${listOf(gate.violations_json) ?? []} passed=${gate.outcome === "passed"} />
    </details></li>`;
  })}</ol>`;
}
