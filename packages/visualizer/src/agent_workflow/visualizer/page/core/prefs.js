/** What this browser remembers: the theme, folded sections, when the list was last looked at. Works without storage too. */

const memory = new Map();

export function remembered(name, fallback = null) {
  try {
    const text = window.localStorage.getItem(`agent-workflow:${name}`);
    return text == null ? fallback : JSON.parse(text);
  } catch {
    return memory.has(name) ? memory.get(name) : fallback;
  }
}

export function remember(name, value) {
  memory.set(name, value);
  try {
    window.localStorage.setItem(`agent-workflow:${name}`, JSON.stringify(value));
  } catch {
    // Storage may be off or full; then it is remembered until the tab closes.
  }
}
