/** Copies a text and says so. */
import { html, useEffect, useState } from "../core/html.js";

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton({ text, what = "" }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(""), 1500);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => {
    try {
      setSaid((await copyText(typeof text === "function" ? await text() : text)) ? "copied" : "not copied");
    } catch {
      setSaid("not copied"); // the whole of it could not be fetched
    }
  };
  return html`<button type="button" class="plain small copy" onClick=${copy} aria-label=${`copy ${what}`.trim()} title=${`copy ${what}`.trim()}>
    ${said || "copy"}<span class="sr" role="status">${said}</span>
  </button>`;
}
