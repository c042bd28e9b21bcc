/** When this reader last looked, so that what ended since can be told apart. */
import { remember, remembered } from "../core/prefs.js";

const GAP_MS = 10 * 60_000;

/**
 * The moment of the last visit. A reload, or a tab left open, is the same visit; ten minutes away make a new one.
 * @returns {number|null} null on the very first visit
 */
export function lastVisit() {
  const seen = remembered("seen-at");
  const now = Date.now();
  if (seen == null) remember("visit-from", null);
  else if (now - seen > GAP_MS) remember("visit-from", seen);
  remember("seen-at", now);
  return remembered("visit-from");
}

/** Say that the page is being looked at. */
export function stillLooking() {
  if (!document.hidden) remember("seen-at", Date.now());
}

export function markAllSeen() {
  remember("visit-from", Date.now());
}
