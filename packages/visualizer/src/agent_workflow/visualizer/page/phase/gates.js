/** The gates of a phase, attempt by attempt. */
import { html, useState } from "../core/html.js";
import { readGate } from "../core/endpoints.js";
import { count, plural } from "../core/format.js";
import { limited, listOf, visible } from "../core/text.js";
import { Time } from "../parts/values.js";
import { Checks } from "./checks.js";

const OUTCOMES = {
  passed: ["✓", "passed", "good"],
  failed: ["✗", "failed", "bad"],
  not_observed: ["?", "could not tell", "wait"],
};

export function Gates({ project, adwId, gates }) {
  return html`<ol class="stack">${gates.map((gate) => html`<li key=${gate.id}><${Gate} project=${project} adwId=${adwId} gate=${gate} /></li>`)}</ol>`;
}

function Gate({ project, adwId, gate }) {
  const [glyph, word, tone] = OUTCOMES[gate.outcome] ?? OUTCOMES.not_observed;
  const [whole, setWhole] = useState(null);
  const [fault, setFault] = useState("");
  const shown = whole ?? gate;
  const list = shown.checks_json == null ? null : listOf(shown.checks_json);
  const bad = (list ?? []).filter((one) => one?.ok === false).length;
  const said = list == null ? "no evidence recorded" : list.length === 0 ? "inspected nothing" : bad ? `${bad} of ${plural(list.length, "item")} not good` : `${plural(list.length, "item")} checked`;
  const showAll = () => readGate(project, adwId, gate.id).then(setWhole, (error) => setFault(error.message));
  return html`<details class="gate" open=${gate.outcome !== "passed" || list == null || list.length === 0}>
    <summary><span class=${`status tone-${tone}`}><span class="glyph" aria-hidden="true">${glyph}</span>${word}</span>${" "}<strong>${limited(gate.gate, 200)}</strong>${" "}<span class="soft small">attempt ${gate.attempt ?? "?"} · ${said} · <${Time} at=${gate.created_at} form="clock" /></span></summary>
    ${shown.checks_cut && html`<p class="small soft">Only the beginning of ${count(gate.checks_size)} characters of evidence is here. <button type="button" class="plain small" onClick=${showAll}>show all of it</button></p>`}
    ${fault && html`<p class="note tone-wait">${visible(fault)}</p>`}
    <${Checks} checks=${list} violations=${listOf(shown.violations_json) ?? []} passed=${gate.outcome === "passed"} />
  </details>`;
}
