/** Why, in one box at the top, with the way to the place; and what else went wrong on the way. */
import { html } from "../core/html.js";
import { plural } from "../core/format.js";
import { visible } from "../core/text.js";

export function Verdict({ cause, problems, invalid, addressOfPhase, addressOfEvent, firstProblem }) {
  if (!cause && problems === 0 && invalid.length === 0) return null;
  const rest = [
    problems > 0 && html`<a href=${addressOfEvent(firstProblem)}>${plural(problems, "error event")}</a><span class="key-hint"> (press <kbd>n</kbd> for the next)</span>`,
    invalid.length > 0 && html`<a href=${addressOfPhase(invalid[0].phase_id)}>${plural(invalid.length, "reply", "replies")} that did not fit the output type</a>`,
  ].filter(Boolean);
  return html`<section class=${`verdict note ${cause ? `tone-${cause.tone}` : ""}`} aria-label="Why">
    ${cause && html`<p class="verdict-line"><strong>${visible(cause.headline)}</strong></p>
      ${cause.lines.map((line, index) => html`<p key=${index} class="wrap">${visible(line)}</p>`)}`}
    <p class="small">
      ${cause?.event && html`<a href=${addressOfEvent(cause.event)}>${cause.tone === "lost" ? "See the last event" : "See the event"}</a>${cause.phase || rest.length ? " · " : ""}`}
      ${cause?.phase && html`<a href=${addressOfPhase(cause.phase)}>Open the phase</a>${rest.length ? " · " : ""}`}
      ${rest.length > 0 && html`${cause ? "In all: " : "On the way: "}${rest.map((one, index) => html`${index > 0 ? ", " : ""}${one}`)}`}
    </p>
  </section>`;
}
