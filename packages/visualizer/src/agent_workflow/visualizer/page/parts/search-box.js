/** A search field whose text goes into the address a moment after the last key. A poll in between takes nothing away. */
import { html, useEffect, useRef, useState } from "../core/html.js";
import { setQuery } from "../core/router.js";

const AFTER_MS = 200;

/**
 * @param {{name: string, value: string, label: string, placeholder?: string, filter?: boolean, also?: Record<string, null>, className?: string, title?: string}} props
 *   `name` of the query value; `also` what changes with it; `filter` marks the field that / goes to
 */
export function SearchBox({ name, value, label, placeholder, filter = false, also = {}, className, title }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => {
    if (!timer.current) setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (event) => {
    const next = event.currentTarget.value;
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = 0;
      setQuery({ [name]: next, ...also });
    }, AFTER_MS);
  };
  return html`<input type="search" class=${className} data-filter=${filter ? "" : undefined} placeholder=${placeholder} aria-label=${label} title=${title} value=${text} onInput=${typed} />`;
}
