/** One session: why it is as it is, its lanes, its phases and their cost, its events; beside them what is selected. */
import { html, useEffect, useMemo, useRef, useState } from "../core/html.js";
import { archiveSession } from "../core/endpoints.js";
import { count, duration, moment, plural } from "../core/format.js";
import { useKeys } from "../core/keys.js";
import { useMedia } from "../core/layout.js";
import { liveness } from "../core/liveness.js";
import { useNow } from "../core/polling.js";
import { remember, remembered } from "../core/prefs.js";
import { address, go } from "../core/router.js";
import { MOVING } from "../core/status.js";
import { oneLine, visible } from "../core/text.js";
import { copyText } from "../parts/copy-button.js";
import { Crumbs } from "../parts/crumbs.js";
import { Fault } from "../parts/fault.js";
import { Safely } from "../parts/safely.js";
import { causeOf } from "./cause.js";
import { useTrace } from "./data.js";
import { EventList } from "./event-list.js";
import { EventPanel } from "./event-panel.js";
import { Files } from "./files.js";
import { Lanes } from "./lanes.js";
import { PhasesTable } from "./phases-table.js";
import { Processes } from "./processes.js";
import { spendByPhase } from "./spend.js";
import { Summary } from "./summary.js";
import { Verdict } from "./verdict.js";
import { PhasePanel } from "../phase/phase-panel.js";
import { lastQuery } from "../sessions/last-query.js";

export function Trace({ project, adwId, selection, route, scope }) {
  const trace = useTrace(project, adwId);
  const { session, phases, gates, envelopes, processes, log, fault, missing } = trace;
  const moving = session != null && MOVING.has(session.shown_status);
  const now = useNow(moving ? 500 : 5000);
  const wide = useMedia("(min-width: 1100px)");
  const [collapse, setCollapse] = useState(() => remembered("collapse-idle", true));
  const [showLog, setShowLog] = useState(() => remembered("show-log", false));
  const [follow, setFollow] = useState(null);
  const [said, setSaid] = useState("");
  const following = follow ?? moving;

  const phaseId = selection[0] === "phase" ? selection[1] : null;
  const eventId = selection[0] === "event" ? selection[1] : null;
  const base = scope(["s", adwId]);
  const home = address(base, route.query);
  const toList = address(scope([]), lastQuery.get());
  const addressOfPhase = (id) => address([...base, "phase", id], route.query);
  const addressOfEvent = (id) => address([...base, "event", id], route.query);
  const phase = phaseId ? phases.find((one) => one.phase_id === phaseId) : null;
  const event = eventId ? log?.byId.get(eventId) : null;
  const open = Boolean(phaseId || eventId);

  useEffect(() => {
    liveness.set(moving);
    return () => liveness.set(false);
  }, [moving]);
  useEffect(() => {
    const word = session ? `${session.shown_status} · ` : "";
    document.title = `${word}${adwId} · agent-workflow`;
  }, [session?.shown_status, adwId]);

  const spend = useMemo(() => spendByPhase(phases, log?.events ?? []), [phases, trace.version]);
  const cause = useMemo(
    () => (session ? causeOf({ session, phases, gates, events: log?.events ?? [], processes, now }) : null),
    [session, phases, gates, trace.version, processes, session?.shown_status === "stalled" ? now : 0],
  );

  const seek = (step) => {
    const problems = log?.problems ?? [];
    const from = event?.rowid ?? (step > 0 ? -1 : Infinity);
    const next = step > 0 ? problems.find((one) => one.rowid > from) : [...problems].reverse().find((one) => one.rowid < from);
    if (next) go(addressOfEvent(next.id));
    else setSaid(problems.length ? `no further error ${step > 0 ? "after" : "before"} this one` : "no error in this session");
  };
  const stepPhase = (step) => {
    const at = phases.findIndex((one) => one.phase_id === (phaseId ?? event?.phase));
    const next = phases[at < 0 ? (step > 0 ? 0 : phases.length - 1) : at + step];
    if (next) go(addressOfPhase(next.phase_id));
  };
  const list = useRef(null);
  const toggle = (name, value, set) => {
    set(!value);
    remember(name, !value);
  };
  useKeys({
    n: () => seek(1),
    N: () => seek(-1),
    "]": () => stepPhase(1),
    "[": () => stepPhase(-1),
    i: () => toggle("collapse-idle", collapse, setCollapse),
    l: () => toggle("show-log", showLog, setShowLog),
    f: () => setFollow(!following),
    y: () => copyText(adwId).then((done) => setSaid(done ? `copied ${adwId}` : "could not copy")),
    j: () => list.current?.step(1),
    k: () => list.current?.step(-1),
    Home: () => list.current?.step(-Infinity),
    End: () => list.current?.step(Infinity),
    Escape: () => {
      go(open ? home : toList);
    },
  });

  const onArchive = async () => {
    try {
      await archiveSession(project, adwId, !session.archived);
      setSaid(session.archived ? "restored" : "archived");
    } catch (error) {
      setSaid(error.message);
    }
    trace.refresh();
  };

  const crumbs = [["Sessions", toList], [visible(adwId), open ? home : null]];
  if (phase) crumbs.push([visible(phase.name), null]);
  else if (event) crumbs.push([oneLine(event.label, 60) || event.type, null]);

  if (missing) {
    return html`<${Crumbs} steps=${crumbs.slice(0, 2)} /><div class="empty"><h2>No session ${visible(adwId)}</h2>
      <p>This database does not hold it. It may belong to another project, or the database was rebuilt without it. The page keeps looking. <a href=${toList}>All sessions</a></p></div>`;
  }
  if (!session) {
    return html`<${Crumbs} steps=${crumbs.slice(0, 2)} /><${Fault} fault=${fault} />${!fault && html`<p class="empty">Reading ${visible(adwId)} …</p>`}`;
  }
  const panel = open && html`<aside class="panel" aria-label=${phaseId ? "Phase" : "Event"}><${Safely} key=${phaseId ?? eventId}>
    ${phaseId && (phase
      ? html`<${PhasePanel} key=${phaseId} project=${project} trace=${trace} phase=${phase} spend=${spend} now=${now} home=${home} addressOfEvent=${addressOfEvent} addressOfPhase=${addressOfPhase} />`
      : html`<div class="empty"><h2>No phase ${visible(phaseId)}</h2><p><a href=${home}>Back to the session</a></p></div>`)}
    ${eventId && (event
      ? html`<${EventPanel} key=${eventId} project=${project} adwId=${adwId} event=${event} log=${log} phases=${phases} from=${moment(session.started_at)} home=${home} addressOfEvent=${addressOfEvent} addressOfPhase=${addressOfPhase} onSeek=${seek} />`
      : html`<div class="empty"><h2>${trace.reading ? "Reading …" : `No event ${visible(eventId)}`}</h2><p><a href=${home}>Back to the session</a></p></div>`)}
  <//></aside>`;

  return html`<div class="trace">
    <${Crumbs} steps=${crumbs} />
    <p class="sr" role="status">${visible(said)}</p>
    <${Fault} fault=${fault} stale=${true} />
    ${(!open || wide) && html`<${Summary} project=${project} trace=${trace} now=${now} said=${said} onArchive=${onArchive} spend=${spend} />
    <${Verdict} cause=${cause} problems=${log?.problems.length ?? 0} invalid=${envelopes.filter((one) => one.valid === 0)} addressOfPhase=${addressOfPhase} addressOfEvent=${addressOfEvent} firstProblem=${log?.problems[0]?.id} />`}
    <div class=${`trace-body${open ? " with-panel" : ""}`}>
      ${(!open || wide) && html`<div class="trace-main">
        <${Lanes} trace=${trace} now=${moving ? now : 0} collapse=${collapse} onCollapse=${() => toggle("collapse-idle", collapse, setCollapse)} selectedPhase=${phaseId ?? event?.phase} selectedEvent=${eventId} addressOfPhase=${addressOfPhase} onEvent=${(id) => go(addressOfEvent(id))} spend=${spend} />
        <${PhasesTable} trace=${trace} spend=${spend} selected=${phaseId} addressOfPhase=${addressOfPhase} now=${now} moving=${moving} />
        <${EventList} key=${adwId} trace=${trace} handle=${list} showLog=${showLog} onShowLog=${() => toggle("show-log", showLog, setShowLog)} follow=${following} onFollow=${setFollow} moving=${moving} selected=${eventId} addressOfEvent=${addressOfEvent} project=${project} route=${route} />
        <${Processes} processes=${processes} />
        <${Files} project=${project} adwId=${adwId} seenAt=${moving ? "moving" : session.ended_at} />
      </div>`}
      ${panel}
    </div>
    <p class="sr" role="log" aria-live="polite">${moving && log?.newest ? `newest: ${log.newest.type} ${log.newest.label}` : ""}</p>
  </div>`;
}
