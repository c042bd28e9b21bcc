/** What agents wrote, made safe to look at: colours dropped, every other invisible character shown. */

const COLOURS = /\u001b\[[0-9;:]*m/g;
// C0 without tab, line feed and carriage return; DEL; C1; what hides or reorders text.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/**
 * Make control and bidi characters visible.
 * @param {unknown} value
 * @returns {string}
 */
export function visible(value) {
  const text = typeof value === "string" ? value : value == null ? "" : String(value);
  if (!text) return "";
  return text
    .replace(COLOURS, "")
    .replace(/\r\n?/g, "\n")
    .replace(HIDDEN, (hidden, at, whole) => {
      if (joins(hidden, whole.slice(Math.max(0, at - 8), at), whole.slice(at + 1, at + 9))) return hidden;
      const code = hidden.codePointAt(0);
      return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
    });
}

const PICTURE = /\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?$/u;
const LETTER = "[\\p{Script=Arabic}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Tamil}]\\p{M}*";
const [BEFORE, AFTER] = [new RegExp(`${LETTER}$`, "u"), new RegExp(`^${LETTER}`, "u")];

/** A joiner inside of one picture, or between letters whose shape it decides, hides nothing. */
function joins(hidden, before, after) {
  if (hidden !== "\u200d" && hidden !== "\u200c") return false;
  if (hidden === "\u200d" && PICTURE.test(before) && /^\p{Extended_Pictographic}/u.test(after)) return true;
  return BEFORE.test(before) && AFTER.test(after);
}

/** The same on one line, cut at `most` characters; the whole belongs into a title or a block nearby. */
export function oneLine(value, most = 200) {
  const text = typeof value === "string" ? value : value == null ? "" : String(value);
  const line = visible(beginning(text, most * 4)).replace(/\s+/g, " ").trim();
  return line.length > most ? `${beginning(line, most - 1)}…` : line;
}

/** Parse JSON from the trace; what is no JSON comes back as the text it is. */
export function parsed(value) {
  if (typeof value !== "string") return value ?? null;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A list where one belongs; whatever else a writer left there is no list. */
export function listOf(value) {
  const found = parsed(value);
  return Array.isArray(found) ? found : null;
}

/** Text for a heading or a cell: all of it unless it is absurdly long. */
export function limited(value, most = 2000) {
  const text = typeof value === "string" ? value : value == null ? "" : String(value);
  return text.length > most ? `${visible(beginning(text, most))} … (${text.length.toLocaleString("en-US")} characters)` : visible(text);
}

/** The first characters of a text, without the half of one. */
function beginning(text, most) {
  const cut = text.slice(0, most);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** A value as text: strings as they are, everything else as indented JSON. */
export function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}
