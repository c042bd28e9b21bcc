/** Sizes that scripts need to know. */
import { useEffect, useState } from "./html.js";

export function useMedia(query) {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const changed = () => setMatches(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

/** The reader's font size decides: rem to pixels. */
export function rem(value) {
  return Math.round(value * Number.parseFloat(getComputedStyle(document.documentElement).fontSize));
}

/** The width of an element, kept up to date. */
export function useWidth(ref, first = 800) {
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const node = ref.current;
    if (!node) return undefined;
    const sized = new ResizeObserver(() => setWidth(Math.floor(node.clientWidth)));
    sized.observe(node);
    setWidth(Math.floor(node.clientWidth));
    return () => sized.disconnect();
  }, [ref.current]);
  return width;
}
