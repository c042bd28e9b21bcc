/** Keys and marks. */
import { html, useEffect, useRef } from "./core/html.js";
import { KEYS } from "./core/keys.js";
import { StatusMark } from "./parts/status-mark.js";
import { statusOf } from "./core/status.js";

const WORDS = ["working", "waiting", "stalled", "lost", "success", "fail"];

export function Help({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="help-title" onClick=${(event) => event.target === dialog.current && dialog.current.close()}>
    <header><h2 id="help-title">Keys and marks</h2><button type="button" onClick=${() => dialog.current.close()}>close</button></header>
    <div class="help-keys">
      ${KEYS.map(([title, keys]) => html`<table key=${title}><caption class="sr">${title}</caption><thead><tr><th colspan="2" scope="colgroup">${title}</th></tr></thead><tbody>
        ${keys.map(([key, does]) => html`<tr key=${key}><td>${key.split(/\s+/).map((one) => html`<kbd>${one}</kbd> `)}</td><td>${does}</td></tr>`)}
      </tbody></table>`)}
    </div>
    <div class="help-marks"><h3>Status</h3><dl>
      ${WORDS.map((word) => html`<dt><${StatusMark} word=${word} /></dt><dd>${statusOf(word).title}</dd>`)}
    </dl></div>
  </dialog>`;
}
