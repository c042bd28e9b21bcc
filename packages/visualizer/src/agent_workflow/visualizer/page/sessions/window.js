/** The list, page by page: only what is in sight is asked for, again and again. */
import { useEffect, useRef, useState } from "../core/html.js";
import { SESSIONS_PAGE } from "../early.js";
import { readFacets, readSessions } from "../core/endpoints.js";
import { IDLE_MS, LIVE_MS, startPolling } from "../core/polling.js";
import { MOVING } from "../core/status.js";

const PAGE = SESSIONS_PAGE;
const FACETS_MS = 5000;

/**
 * @param {string|null} project
 * @param {URLSearchParams|Record<string, string>} filters
 * @returns rows by index (a hole is not read yet), how many there are in all, and what is wrong
 */
export function useSessionWindow(project, filters) {
  const key = JSON.stringify([project, filters]);
  const [state, setState] = useState({ key, rows: [], total: null, extra: {}, fault: null });
  const range = useRef([0, 30]);
  const poller = useRef(null);
  const waiting = useRef(0);

  useEffect(() => {
    const pages = new Map();
    let extra = {};
    let facetsAt = 0;
    setState((now) => ({ ...now, key, fault: null, stale: true }));
    poller.current = startPolling(
      async (signal) => {
        const [first, last] = range.current;
        const from = Math.floor(first / PAGE);
        const to = Math.max(from, Math.floor(Math.max(0, last - 1) / PAGE));
        let total = null;
        for (let page = from; page <= to; page += 1) {
          const reply = await readSessions(project, { ...filters, limit: PAGE, offset: page * PAGE }, signal);
          pages.set(page, reply.sessions);
          ({ total } = reply);
        }
        // Pages out of sight are dropped: they would be stale when they are looked at again.
        for (const page of pages.keys()) if (page < from - 2 || page > to + 2) pages.delete(page);
        const rows = new Array(total);
        for (const [page, sessions] of pages) sessions.forEach((session, at) => { if (page * PAGE + at < total) rows[page * PAGE + at] = session; });
        const shown = () => setState((now) => (now.key === key && !now.stale && now.total === total && now.extra === extra && same(now.rows, rows) && now.fault === null ? now : { key, rows, total, extra, fault: null, stale: false }));
        shown();
        // What the list can be narrowed to comes after the list itself: nobody waits for it.
        if (Date.now() - facetsAt > FACETS_MS) {
          extra = await readFacets(project, signal);
          facetsAt = Date.now();
          shown();
        }
        const moving = rows.some((row) => row && MOVING.has(row.shown_status));
        return moving ? LIVE_MS : IDLE_MS;
      },
      (fault) => {
        if (fault) setState((now) => ({ ...now, fault }));
      },
    );
    return () => poller.current.stop();
  }, [key]);

  const onRange = (first, last) => {
    const before = range.current;
    range.current = [first, last];
    if (Math.floor(first / PAGE) !== Math.floor(before[0] / PAGE) || Math.floor(last / PAGE) !== Math.floor(before[1] / PAGE)) {
      clearTimeout(waiting.current);
      waiting.current = setTimeout(() => poller.current?.now(), 60);
    }
  };
  return { ...state, onRange, refresh: () => poller.current?.now() };
}

function same(left, right) {
  return left.length === right.length && left.every((one, index) => one === right[index]) && right.every((one, index) => one === left[index]);
}
