/** Everything one trace shows, kept up to date by one poller. */
import { useEffect, useRef, useState } from "../core/html.js";
import { Refused } from "../core/api.js";
import { readDetail, readEnvelopes, readEvents, readGates, readProcesses } from "../core/endpoints.js";
import { IDLE_MS, LIVE_MS, startPolling } from "../core/polling.js";
import { MOVING } from "../core/status.js";
import { EventLog } from "./event-log.js";

const RESULTS = new Set(["gate_pass", "gate_fail", "handoff", "agent_end", "phase_end", "error"]);
const DRAW_EVERY_MS = 300;
/** Drawing costs by the event: while a long session is read, most of the time must go into reading. */
const DRAW_MS_AN_EVENT = 0.1;

export function useTrace(project, adwId) {
  const [state, setState] = useState(() => empty());
  const poller = useRef(null);
  useEffect(() => {
    const log = new EventLog();
    let detail = null;
    let gates = [];
    let envelopes = [];
    let processes = null;
    let results = -1;
    let drawn = 0;
    let seen = "";

    const draw = (extra = {}) => {
      drawn = Date.now();
      setState({ ...empty(), ...detail, gates, envelopes, processes: processes ?? [], log, version: log.version, fault: null, ...extra });
    };

    async function read(signal) {
      const before = detail;
      detail = await readDetail(project, adwId, signal);
      if (!before) draw({ reading: true });
      const versionBefore = log.version;
      let fresh = 0;
      for (;;) {
        const page = await readEvents(project, adwId, log, signal);
        if (page.reset) results = -1;
        if (!log.absorb(page)) break;
        // The first page is shown at once, the rest of a long session as it comes.
        if (versionBefore === log.version - 1 || Date.now() - drawn > Math.max(DRAW_EVERY_MS, DRAW_MS_AN_EVENT * log.events.length)) draw({ reading: true });
      }
      for (let index = log.events.length - 1; index >= 0 && log.events[index].rowid > results; index -= 1) if (RESULTS.has(log.events[index].type)) fresh += 1;
      const moved = before !== detail || log.version !== versionBefore;
      if (fresh > 0 || results < 0) {
        [gates, envelopes] = await Promise.all([readGates(project, adwId, signal), readEnvelopes(project, adwId, signal)]);
        results = log.cursor;
      }
      if (moved || processes === null) processes = await readProcesses(project, adwId, signal);
      const now = `${log.version}/${processes.map((one) => one.state).join()}`;
      if (moved || now !== seen) draw();
      seen = now;
      return MOVING.has(detail.session.shown_status) ? LIVE_MS : IDLE_MS;
    }

    poller.current = startPolling(read, (fault) => {
      if (fault) setState((now) => ({ ...now, fault, missing: fault instanceof Refused && fault.status === 404 && !now.session }));
      else setState((now) => (now.fault || now.reading ? { ...now, fault: null, reading: false } : now));
    });
    return () => poller.current.stop();
  }, [project, adwId]);
  return { ...state, refresh: () => poller.current?.now() };
}

function empty() {
  return { session: null, phases: [], agents: [], usage: null, gates: [], envelopes: [], processes: [], log: null, version: 0, reading: false, fault: null, missing: false };
}
