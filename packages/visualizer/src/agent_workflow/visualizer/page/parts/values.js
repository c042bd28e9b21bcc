/** Small values: times, ages, tokens, context. */
import { html } from "../core/html.js";
import { oneLine } from "../core/text.js";
import { ago, clock, count, dateTime, duration, exactTime, moment, percent, short } from "../core/format.js";

export function Time({ at, form = "dateTime" }) {
  const value = moment(at);
  if (value == null) return html`<span class="unknown">${at ? oneLine(at, 80) : "unknown"}</span>`;
  const text = form === "clock" ? clock(value, true) : dateTime(value);
  return html`<time datetime=${at} title=${exactTime(at)}>${text}</time>`;
}

export function Age({ at, now }) {
  const value = moment(at);
  if (value == null) return html`<span class="unknown">unknown</span>`;
  return html`<time datetime=${at} title=${exactTime(at)}>${ago(now - value)}</time>`;
}

export function Tokens({ value }) {
  if (value == null) return html`<span class="unknown">unknown</span>`;
  return html`<span class="num" title=${`${count(value)} tokens`}>${short(value)}</span>`;
}

export function Span({ ms }) {
  return ms == null ? html`<span class="unknown">unknown</span>` : html`<span class="num" title=${`${count(ms)} ms`}>${duration(ms)}</span>`;
}

/** How full a context window is; without both numbers there is no bar, only a word. */
export function ContextBar({ used, window: size }) {
  if (used == null) return html`<span class="unknown small" title="no valid turn has ended yet, or none was recorded">context unknown</span>`;
  if (!size) return html`<span class="soft small" title="the size of the window is not known">${short(used)} context</span>`;
  const share = Math.min(1, used / size);
  const label = `context ${count(used)} of ${count(size)} tokens, ${percent(share)}, ${count(Math.max(0, size - used))} left`;
  return html`<span class="context" title=${label}>
    <svg class="context-bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${label}>
      <rect class="context-room" width="100" height="6" />
      <rect class=${share > 0.8 ? "context-full" : "context-used"} width=${Math.max(2, share * 100)} height="6" />
    </svg>
    <span class="small num">${percent(share)} of ${short(size)}</span>
  </span>`;
}
