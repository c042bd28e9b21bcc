/** Keys: one listener; the newest binding of a key wins; nothing fires while somebody types. */
import { useEffect, useRef } from "./html.js";

const layers = [];

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const at = event.target;
  const typing = at instanceof HTMLElement && (at.matches("input:not([type=checkbox]), textarea, select") || at.isContentEditable);
  if (typing) {
    if (event.key === "Escape") at.blur();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  // A focused control keeps its own Enter and Space.
  if ((event.key === "Enter" || event.key === " ") && at instanceof HTMLElement && at.closest("a, button, summary, input, [role=slider]")) return;
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    const action = layers[index].current[event.key];
    if (action && action(event) !== false) {
      event.preventDefault();
      return;
    }
  }
});

/** Bind keys while a component is shown: `useKeys({ j: next, k: previous })`. An action that returns false passes the key on. */
export function useKeys(bindings) {
  const layer = useRef(bindings);
  layer.current = bindings;
  useEffect(() => {
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, []);
}

/** What the help lists. */
export const KEYS = [
  ["Anywhere", [["?", "this help"], ["/", "search or filter"], ["Esc", "close, or back"], ["g s", "sessions"], ["g f", "fleet"], ["t", "theme: system, light, dark"]]],
  ["Lists", [["j  k", "down, up"], ["Enter", "open"], ["n  N", "next, previous error"], ["Home  End", "first, last"]]],
  ["Trace", [["[  ]", "previous, next phase"], ["i", "collapse or show idle time"], ["f", "follow the newest event"], ["l", "show or hide log events"], ["y", "copy the session's id"]]],
];
