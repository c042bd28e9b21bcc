/** Tells, outside of the page, that a run ended or stalled. Only when asked for; nothing else depends on it. */
import { useEffect } from "./html.js";
import { readSessions } from "./endpoints.js";
import { startPolling } from "./polling.js";
import { remember, remembered } from "./prefs.js";
import { MOVING } from "./status.js";
import { createStore, useStore } from "./store.js";
import { oneLine, visible } from "./text.js";

const EVERY_MS = 5000;
const LOOKED_AT = 50;
const WORDS = { success: "ended well", fail: "failed", lost: "is lost: its process is gone", stalled: "has stalled" };

const supported = typeof window !== "undefined" && "Notification" in window;
const wanted = createStore(supported && Notification.permission === "granted" && remembered("notify", false) === true);

/**
 * What changed between two looks at the newest sessions. Pure.
 * @param {Map<string, string>} before shown words by session; empty at the first look, of which nothing is told
 * @param {{adw_id: string, shown_status: string, request: string, reason: string}[]} sessions
 * @returns {{id: string, title: string, body: string}[]}
 */
export function changesOf(before, sessions) {
  return sessions
    .filter((one) => MOVING.has(before.get(one.adw_id)) && one.shown_status !== before.get(one.adw_id) && WORDS[one.shown_status])
    .map((one) => ({
      id: one.adw_id,
      title: `${visible(one.adw_id)} ${WORDS[one.shown_status]}`,
      body: [oneLine(one.request, 120), one.reason && oneLine(one.reason, 160)].filter(Boolean).join("\n"),
    }));
}

/** Whether it tells, and a way to change that: null where the browser cannot, else what became of it in words. */
export function useNotifying() {
  const on = useStore(wanted);
  if (!supported) return { on: false, toggle: null };
  const toggle = async () => {
    if (wanted.get()) return set(false, "runs that end are told only on the page");
    const answer = await Notification.requestPermission();
    return answer === "granted" ? set(true, "you are told when a run ends or stalls") : set(false, "the browser does not allow this page to notify");
  };
  return { on, toggle };
}

function set(on, said) {
  wanted.set(on);
  remember("notify", on);
  return said;
}

/** Look at the newest sessions while it is asked for. `openOf` gives the address of one. */
export function useNotifications(project, ready, openOf) {
  const on = useStore(wanted);
  useEffect(() => {
    if (!on || !ready) return undefined;
    let before = new Map();
    const poller = startPolling(
      async (signal) => {
        const { sessions } = await readSessions(project, { limit: LOOKED_AT, offset: 0, marks: 0 }, signal);
        for (const change of changesOf(before, sessions)) tell(change, openOf);
        before = new Map(sessions.map((one) => [one.adw_id, one.shown_status]));
        return EVERY_MS;
      },
      () => {}, // the screens say what is wrong
    );
    return poller.stop;
  }, [on, ready, project]);
}

function tell({ id, title, body }, openOf) {
  try {
    const shown = new Notification(title, { body, tag: `agent-workflow:${id}` });
    shown.onclick = () => {
      window.focus();
      window.location.hash = openOf(id);
      shown.close();
    };
  } catch {
    // Some browsers have the name and refuse the thing outside of a service worker.
    wanted.set(false);
  }
}
