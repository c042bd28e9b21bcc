/** A long text: wrapped, copyable, cut only with a button that shows the rest. */
import { html, useState } from "../core/html.js";
import { count } from "../core/format.js";
import { visible } from "../core/text.js";
import { CopyButton } from "./copy-button.js";
import { Marked } from "./marked.js";

const SHOWN_AT_FIRST = 8000;

/**
 * @param {{title: string, text: string, find?: string, whole?: (() => Promise<string>)|null, size?: number}} props
 *   `whole` fetches the text when what is here is only its beginning
 */
export function TextBlock({ title, text, find = "", whole = null, size = null }) {
  const [fetched, setFetched] = useState(null);
  const [open, setOpen] = useState(false);
  const [fault, setFault] = useState("");
  const full = fetched ?? text ?? "";
  const shown = visible(open || full.length <= SHOWN_AT_FIRST ? full : full.slice(0, SHOWN_AT_FIRST));
  const isCut = full.length > SHOWN_AT_FIRST || (whole && fetched == null);
  const showAll = async () => {
    try {
      if (whole && fetched == null) setFetched(await whole());
      setOpen(true);
    } catch (error) {
      setFault(error.message);
    }
  };
  return html`<div class=${`text-block${open ? " whole" : ""}`}>
    <div class="tools">
      <span class="title">${title}</span>
      ${isCut && !open && html`<button type="button" class="plain small" onClick=${showAll}>show all${size ?? full.length ? ` ${count(size ?? full.length)} characters` : ""}</button>`}
      ${open && html`<button type="button" class="plain small" onClick=${() => setOpen(false)}>show less</button>`}
      <${CopyButton} text=${async () => (whole && fetched == null ? whole() : full)} what=${title} />
    </div>
    ${fault && html`<p class="note tone-bad">${visible(fault)}</p>`}
    <pre tabindex="0" role="group" aria-label=${title}>${shown ? html`<${Marked} text=${shown} find=${find} />` : html`<span class="unknown">empty</span>`}${isCut && !open ? html`<span class="soft">${" …"}</span>` : null}</pre>
  </div>`;
}
