/** A part that folds; folded parts stay folded for the next time. */
import { html, useState } from "../core/html.js";
import { remember, remembered } from "../core/prefs.js";

export function Section({ name, title, aside = null, open = true, children, level = 2 }) {
  const key = `section:${name}`;
  const [isOpen, setOpen] = useState(() => remembered(key, open));
  const toggled = (event) => {
    const now = event.currentTarget.open;
    if (now !== isOpen) {
      setOpen(now);
      remember(key, now);
    }
  };
  const Heading = `h${level}`;
  return html`<details class="section" open=${isOpen} onToggle=${toggled}>
    <summary><${Heading}>${title}<//>${aside && html`<span class="soft small aside">${aside}</span>`}</summary>
    <div class="section-body">${isOpen && children}</div>
  </details>`;
}
