/** The tool calls of a phase: failed ones first to find, each opens to its arguments and result. */
import { html, useMemo, useState } from "../core/html.js";
import { count, duration, plural } from "../core/format.js";
import { visible } from "../core/text.js";
import { Marked } from "../parts/marked.js";
import { Payload } from "../trace/event-panel.js";

const AT_FIRST = 100;

export function ToolCalls({ project, adwId, calls, addressOfEvent }) {
  const [find, setFind] = useState("");
  const [onlyBad, setOnlyBad] = useState(false);
  const [most, setMost] = useState(AT_FIRST);
  const words = find.toLowerCase();
  const shown = useMemo(
    () => calls.filter((call) => (!onlyBad || call.problem) && (!words || call.label.toLowerCase().includes(words) || (call.payload && JSON.stringify(call.payload).toLowerCase().includes(words)))),
    [calls, calls.length, words, onlyBad],
  );
  const bad = calls.filter((call) => call.problem).length;
  const partial = words && calls.some((call) => !call.payload || call.cut);
  return html`<div class="toolbar">
      <input type="search" placeholder="Search commands, arguments, results" aria-label="Search tool calls" value=${find} onInput=${(event) => setFind(event.currentTarget.value)} />
      ${bad > 0 && html`<label class="check"><input type="checkbox" checked=${onlyBad} onChange=${(event) => setOnlyBad(event.currentTarget.checked)} /> failed only (${count(bad)})</label>`}
      <span class="small soft num push">${count(shown.length)} of ${count(calls.length)}</span>
    </div>
    ${partial && html`<p class="small soft">Long results are searched in the part that is here; open a call for all of it.</p>`}
    <ol class="calls">${shown.slice(0, most).map((call) => html`<${Call} key=${call.id} project=${project} adwId=${adwId} call=${call} find=${find} target=${addressOfEvent(call.id)} />`)}</ol>
    ${shown.length > most && html`<button type="button" onClick=${() => setMost(most + 200)}>show ${plural(Math.min(200, shown.length - most), "more call")}</button>`}`;
}

function Call({ project, adwId, call, find, target }) {
  const [open, setOpen] = useState(false);
  const ok = call.payload?.ok ?? call.ok;
  return html`<li class=${call.problem ? "call problem" : "call"}><details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><span class=${call.denied ? "tone-wait mono" : call.problem ? "tone-bad mono" : "soft mono"} title=${wordOf(call, ok)}>${call.denied ? "⊘" : call.problem ? "✗" : ok === true ? "✓" : "?"}</span>
      <span class="mono wrap call-label"><${Marked} text=${call.label || visible(call.name)} find=${find} /></span>${call.problem && html`<span class="sr">${wordOf(call, ok)}</span>`}
      <span class="num small soft">${call.took == null ? "" : duration(call.took)}</span></summary>
    ${open && html`<div class="call-body"><${Payload} project=${project} adwId=${adwId} event=${call} find=${find} /><p class="small"><a href=${target}>open as event</a></p></div>`}
  </details></li>`;
}

function wordOf(call, ok) {
  if (call.denied) return "denied";
  if (call.problem) return "failed";
  return ok === true ? "ended well" : "how it ended was not recorded";
}
