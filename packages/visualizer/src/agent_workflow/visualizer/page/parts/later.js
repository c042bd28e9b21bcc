/** A screen whose code is fetched when it is first opened: the list of sessions need not wait for the charts. */
import { html, useEffect, useState } from "../core/html.js";
import { visible } from "../core/text.js";

/**
 * @param {{load: () => Promise<Function>, with: object}} props `load` gives the component, `with` are its properties
 */
export function Later({ load, with: properties }) {
  const [found, setFound] = useState({ component: null, fault: "" });
  useEffect(() => {
    load().then((component) => setFound({ component, fault: "" }), (error) => setFound({ component: null, fault: error.message }));
  }, []);
  if (found.fault) return html`<p class="note tone-wait">This screen could not be fetched: ${visible(found.fault)}. Reload the page when the server answers again.</p>`;
  return found.component ? html`<${found.component} ...${properties} />` : html`<p class="empty">Reading …</p>`;
}
