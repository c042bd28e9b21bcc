/** A text that may be very long: its beginning, and a button for the rest. */
import { html, useState } from "../core/html.js";
import { count } from "../core/format.js";
import { visible } from "../core/text.js";

const SHOWN_AT_FIRST = 3000;

export function LongText({ text }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN_AT_FIRST;
  return html`<pre class="wrap">${visible(cut ? text.slice(0, SHOWN_AT_FIRST) : text)}${cut && html` … <button type="button" class="plain small" onClick=${() => setWhole(true)}>show all ${count(text.length)} characters</button>`}</pre>`;
}
