/** Keeps a fault in one part from taking the page with it. */
import { html, useErrorBoundary } from "../core/html.js";
import { visible } from "../core/text.js";

export function Safely({ children }) {
  const [fault, again] = useErrorBoundary((error) => console.error(error));
  if (!fault) return children;
  return html`<div class="note tone-bad" role="alert"><p><strong>This part of the page met something it could not show.</strong> ${visible(fault.message ?? fault)}</p>
    <button type="button" onClick=${again}>try again</button></div>`;
}
