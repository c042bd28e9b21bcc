/** What is wrong, calmly, and that the page goes on trying. */
import { html } from "../core/html.js";
import { Away } from "../core/api.js";
import { visible } from "../core/text.js";

export function Fault({ fault, stale = false }) {
  if (!fault || fault instanceof Away) return null;
  return html`<p class="note tone-wait" role="status">
    ${visible(fault.message)}${/[.!?]$/.test(fault.message) ? "" : "."} ${stale ? "What is shown below is from before." : ""} The page keeps trying.
  </p>`;
}
