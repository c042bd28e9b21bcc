/** Where this is, and the ways back. */
import { html } from "../core/html.js";

export function Crumbs({ steps }) {
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol>
    ${steps.map(([text, target], index) => html`<li key=${index}>${target ? html`<a href=${target}>${text}</a>` : html`<span aria-current="page">${text}</span>`}</li>`)}
  </ol></nav>`;
}
