/** The processes of a session and what became of them. */
import { html } from "../core/html.js";
import { plural } from "../core/format.js";
import { visible } from "../core/text.js";
import { Section } from "../parts/section.js";
import { Time } from "../parts/values.js";

const STATES = {
  alive: ["● alive", "live"],
  gone: ["☓ gone", "lost"],
  recycled: ["☓ gone, number reused", "lost"],
  zombie: ["☓ ended, not collected", "lost"],
};

export function Processes({ processes }) {
  if (processes.length === 0) return null;
  const alive = processes.filter((one) => one.state === "alive").length;
  return html`<${Section} name="processes" title="Processes" open=${false} aside=${`${plural(processes.length, "process", "processes")}, ${alive} alive`}>
    <div class="scrolls" tabindex="0" role="group" aria-label="Processes, scrollable"><table><thead><tr><th scope="col">state</th><th scope="col">kind</th><th scope="col">name</th><th scope="col" class="num">pid</th><th scope="col">command</th><th scope="col">started</th><th scope="col">ended</th></tr></thead>
    <tbody>${processes.map((one) => {
      const [word, tone] = one.ended_at ? ["ended", "still"] : STATES[one.state] ?? [one.state ?? "unknown", "still"];
      return html`<tr key=${one.id}><td class=${`tone-${tone}`}>${word}</td><td>${visible(one.kind)}</td><td>${visible(one.name)}</td><td class="num">${one.pid}</td><td class="mono wrap">${visible(one.command)}</td><td class="num"><${Time} at=${one.started_at} form="clock" /></td><td class="num">${one.ended_at ? html`<${Time} at=${one.ended_at} form="clock" />` : html`<span class="soft">no end recorded</span>`}</td></tr>`;
    })}</tbody></table></div>
  <//>`;
}
