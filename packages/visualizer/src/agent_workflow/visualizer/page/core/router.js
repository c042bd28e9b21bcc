/** Every selection is an address: `#/s/feed0001/phase/feed0001_03_build?type=tool_call`. */
import { useEffect, useRef, useState } from "./html.js";

/**
 * @typedef {{path: string[], query: URLSearchParams}} Route
 * @returns {Route}
 */
export function readRoute(hash = window.location.hash) {
  const [, path, query] = /^#?\/?([^?]*)\??(.*)$/s.exec(hash);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** Build an address from segments and from query values; empty values are left out. */
export function address(segments, query = {}) {
  const search = new URLSearchParams();
  const pairs = query instanceof URLSearchParams ? query.entries() : Object.entries(query);
  for (const [name, value] of pairs) if (value != null && value !== "" && value !== false) search.append(name, String(value));
  const tail = search.toString();
  return `#/${segments.map(encodeURIComponent).join("/")}${tail ? `?${tail}` : ""}`;
}

/** Go to an address. `replace` leaves no step behind: for filters that are typed. */
export function go(target, { replace = false } = {}) {
  if (target === window.location.hash) return;
  if (replace) {
    window.history.replaceState(null, "", target);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    window.location.hash = target;
  }
}

/** Change query values of the address at hand. */
export function setQuery(changes, { replace = true } = {}) {
  const { path, query } = readRoute();
  for (const [name, value] of Object.entries(changes)) {
    if (value == null || value === "" || value === false) query.delete(name);
    else query.set(name, String(value));
  }
  go(address(path, query), { replace });
}

export function useRoute() {
  const read = useRef(window.location.hash);
  const [route, setRoute] = useState(() => readRoute(read.current));
  useEffect(() => {
    const changed = () => {
      read.current = window.location.hash;
      setRoute(readRoute(read.current));
    };
    window.addEventListener("hashchange", changed);
    if (read.current !== window.location.hash) changed(); // it moved on between the first drawing and this moment
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
