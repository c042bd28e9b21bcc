/** Text with the searched words marked; always text nodes. */
import { html } from "../core/html.js";

export function Marked({ text, find = "" }) {
  if (!find) return text;
  const lower = text.toLowerCase();
  const wanted = find.toLowerCase();
  if (lower.length !== text.length) return text; // a letter that grows when folded: places would not agree
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0 && parts.length < 400; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + wanted.length)}</mark>`);
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts;
}
