/** Polling that never overlaps itself, drops stale replies, slows down when nobody looks, and recovers by itself. */
import { useEffect, useRef, useState } from "./html.js";

export const LIVE_MS = 500;
export const IDLE_MS = 3000;
const HIDDEN_MS = 15_000;
const RETRY_MS = [1000, 2000, 4000, 8000];

/**
 * Call `read` again and again until stopped.
 * @param {(signal: AbortSignal) => Promise<number>} read resolves to the milliseconds until the next call
 * @param {(error: Error|null) => void} report called after each call: the fault, or null
 * @returns {{stop: () => void, now: () => void}} `now` calls at once, or again as soon as the call under way has ended
 */
export function startPolling(read, report) {
  const abort = new AbortController();
  let timer = 0;
  let busy = false;
  let again = false;
  let faults = 0;

  async function turn() {
    if (busy || abort.signal.aborted) return;
    clearTimeout(timer);
    busy = true;
    again = false;
    let wait = IDLE_MS;
    try {
      wait = await read(abort.signal);
      faults = 0;
      if (!abort.signal.aborted) report(null);
    } catch (error) {
      if (abort.signal.aborted) return;
      wait = RETRY_MS[Math.min(faults, RETRY_MS.length - 1)];
      faults += 1;
      report(error);
    } finally {
      busy = false;
    }
    if (abort.signal.aborted) return;
    if (again) turn();
    else timer = setTimeout(turn, document.hidden ? Math.max(wait, HIDDEN_MS) : wait);
  }

  const seen = () => {
    if (!document.hidden) turn();
  };
  document.addEventListener("visibilitychange", seen);
  window.addEventListener("online", seen);
  turn();
  return {
    now() {
      again = busy; // what is being read may be from before the change that somebody wants to see
      turn();
    },
    stop() {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("online", seen);
    },
  };
}

/**
 * Poll while a component is shown. When `key` changes the old answer is dropped at once: no wrong session's data.
 * @param {string} key
 * @param {(signal: AbortSignal) => Promise<any>} read
 * @param {(data: any) => number} interval milliseconds until the next call
 */
export function usePolled(key, read, interval = () => IDLE_MS) {
  const [state, setState] = useState({ key, data: null, fault: null });
  const poller = useRef(null);
  const latest = useRef({ read, interval });
  latest.current = { read, interval };
  useEffect(() => {
    let data = null;
    setState((now) => (now.key === key ? now : { key, data: null, fault: null }));
    poller.current = startPolling(
      async (signal) => {
        data = await latest.current.read(signal);
        return latest.current.interval(data);
      },
      (fault) =>
        setState((now) =>
          now.key === key && now.data === data && now.fault?.message === fault?.message ? now : { key, data: data ?? now.data, fault },
        ),
    );
    return () => poller.current.stop();
  }, [key]);
  const current = state.key === key ? state : { key, data: null, fault: null };
  return { data: current.data, fault: current.fault, refresh: () => poller.current?.now() };
}

/** A clock for ages on screen; ticks only while somebody looks. */
export function useNow(everyMs = 1000, running = true) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, running]);
  return now;
}
