/** A status: glyph, word, tone. */
import { html } from "../core/html.js";
import { statusOf } from "../core/status.js";
import { visible } from "../core/text.js";

export function StatusMark({ word, chip = false, title }) {
  const status = statusOf(word);
  return html`<span class=${`status tone-${status.tone}${chip ? " chip" : ""}`} title=${title ?? status.title}>
    <span class="glyph" aria-hidden="true">${status.glyph}</span>${visible(status.word)}
  </span>`;
}
