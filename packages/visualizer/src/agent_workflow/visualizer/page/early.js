/**
 * Asks for what the first screen shows while the code of the page is still on its way; `api.js` takes the replies.
 * It imports nothing and stays a file of its own, so that it runs first.
 */

/** Sessions in one page of the list. */
export const SESSIONS_PAGE = 50;
/** Events in the first page of a trace: enough for a screen, soon there. */
export const FIRST_EVENTS = 200;
const HOLDS_MS = 10_000;

const asked = new Map();

function ask(path) {
  const reply = fetch(path, { credentials: "same-origin", cache: "no-store" });
  reply.catch(() => {}); // whoever takes it is told
  asked.set(path, reply);
}

/** The reply to a path that was asked for early; once, and only while it is fresh. */
export function takeEarly(path) {
  const reply = asked.get(path);
  asked.delete(path);
  return performance.now() < HOLDS_MS ? reply : undefined;
}

ask("api/projects");
// The server says how many databases it has. With several, the address names one; the screens know how to ask for it.
if (document.documentElement.dataset.databases === "1") {
  const { hash } = window.location;
  const trace = /^#\/s\/([A-Za-z0-9][A-Za-z0-9_.-]*)(?:[/?]|$)/.exec(hash);
  if (trace) {
    ask(`api/sessions/${trace[1]}`);
    ask(`api/sessions/${trace[1]}/events?after=0&limit=${FIRST_EVENTS}`);
  } else if (hash === "" || hash === "#" || hash === "#/") ask(`api/sessions?limit=${SESSIONS_PAGE}&offset=0`);
}
