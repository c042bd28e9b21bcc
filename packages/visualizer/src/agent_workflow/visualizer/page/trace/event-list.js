/** All events in the order they happened; only the rows in sight exist. */
import { html, useCallback, useEffect, useMemo, useRef } from "../core/html.js";
import { clock, count, duration, moment, short } from "../core/format.js";
import { rem, useMedia } from "../core/layout.js";
import { go, setQuery } from "../core/router.js";
import { oneLine, visible } from "../core/text.js";
import { Marked } from "../parts/marked.js";
import { SearchBox } from "../parts/search-box.js";
import { VirtualList } from "../parts/virtual-list.js";
import { KINDS, typeOf } from "./event-types.js";

export function EventList({ trace, handle, showLog, onShowLog, follow, onFollow, moving, selected, addressOfEvent, route }) {
  const { log, session, phases } = trace;
  const kind = route.query.get("kind") ?? "";
  const find = route.query.get("find") ?? "";
  const inPhase = route.query.get("in") ?? "";
  const narrow = useMedia("(max-width: 760px)");
  const rowHeight = rem(narrow ? 2.75 : 1.625);
  const from = moment(session.started_at) ?? 0;
  const shown = useMemo(() => {
    const passes = (KINDS.find(([name]) => name === kind) ?? KINDS[0])[2];
    const words = find.toLowerCase();
    const all = log?.events ?? [];
    return all.filter((event) => passes(event) && (showLog || kind === "log" || event.type !== "log" || event.retry) && (!inPhase || event.phase === inPhase) && (!words || matches(event, words)));
  }, [log, trace.version, kind, find, inPhase, showLog]);
  const places = useMemo(() => new Map(shown.map((event, index) => [event.id, index])), [shown]);
  const list = useRef(null);
  const all = log?.events.length ?? 0;
  const hidden = showLog || kind === "log" ? 0 : (log?.events ?? []).reduce((sum, event) => sum + (event.type === "log" && !event.retry ? 1 : 0), 0);

  if (handle) {
    handle.current = {
      step(by) {
        if (shown.length === 0) return;
        const at = selected != null && places.has(selected) ? places.get(selected) : by > 0 && by !== Infinity ? -1 : shown.length;
        const next = by === Infinity ? shown.length - 1 : by === -Infinity ? 0 : Math.max(0, Math.min(shown.length - 1, at + by));
        go(addressOfEvent(shown[next].id));
      },
    };
  }
  useEffect(() => {
    if (selected != null && places.has(selected)) list.current?.reveal(places.get(selected));
  }, [selected, places.has(selected)]);

  const names = useMemo(() => new Map(phases.map((phase) => [phase.phase_id, phase])), [phases]);
  const keyOf = (index) => shown[index]?.id;
  const indexOf = useCallback((key) => places.get(key) ?? 0, [places]);
  const height = Math.min(shown.length * rowHeight + 2, rem(30));
  return html`<section class="events-section" aria-label="Events">
    <div class="toolbar">
      <h2>Events</h2>
      <${SearchBox} name="find" value=${find} label="Filter events" placeholder="Filter  ( / )" filter />
      <select aria-label="Kind of event" value=${kind} onChange=${(event) => setQuery({ kind: event.currentTarget.value })}>${KINDS.map(([name, label]) => html`<option value=${name}>${label}${name === "problems" ? ` (${log?.problems.length ?? 0})` : ""}</option>`)}</select>
      <select aria-label="Phase" value=${inPhase} onChange=${(event) => setQuery({ in: event.currentTarget.value })}><option value="">every phase</option>${phases.map((phase) => html`<option value=${phase.phase_id}>${phase.seq} ${oneLine(phase.name, 30)}</option>`)}</select>
      <label class="check"><input type="checkbox" checked=${showLog} onChange=${onShowLog} /> log${hidden ? html` <span class="soft small num">(${count(hidden)} hidden)</span>` : ""}</label>
      ${moving && html`<button type="button" aria-pressed=${follow ? "true" : "false"} onClick=${() => onFollow(!follow)} title="keep the newest event in sight (f)">follow</button>`}
      <span class="soft small num push">${trace.reading ? `read ${count(all)} of ${session.event_count == null ? "…" : count(session.event_count)}` : `${count(shown.length)} of ${count(all)}`}</span>
    </div>
    ${shown.length === 0 && html`<p class="empty">${all === 0 ? (trace.reading ? "Reading …" : "No event was recorded yet.") : html`No event passes this filter. <button type="button" class="plain" onClick=${() => setQuery({ kind: null, find: null, in: null })}>show all</button>`}</p>`}
    ${shown.length > 0 && html`<div class=${`event-table${narrow ? " narrow" : ""}`} role="table" aria-label="Events, oldest first" aria-rowcount=${shown.length + 1}>
      <div role="rowgroup"><div class="event-row event-head" role="row" aria-rowindex="1">${[["after", "num"], ["type", ""], ["phase", "e-phase"], ["what", ""], ["took", "num"], ["tokens", "num e-tokens"]].map(([name, css]) => html`<span role="columnheader" class=${css}>${name}</span>`)}</div></div>
      <div class="event-scroll" role="presentation" style=${{ height: `${height}px` }}>
      <${VirtualList} count=${shown.length} rowHeight=${rowHeight} keyOf=${keyOf} indexOf=${indexOf} follow=${follow && moving} onFollow=${moving ? onFollow : undefined} handle=${list} label="Events, scrollable"
        row=${(index) => html`<${EventRow} key=${shown[index].id} event=${shown[index]} index=${index} from=${from} find=${find} phase=${names.get(shown[index].phase)} isSelected=${shown[index].id === selected} isNewest=${shown[index] === log.newest} target=${addressOfEvent(shown[index].id)} />`} />
      </div>
    </div>`}
  </section>`;
}

function EventRow({ event, index, from, find, phase, isSelected, isNewest, target }) {
  const type = typeOf(event);
  const label = event.label || event.name;
  return html`<div class=${`event-row${isSelected ? " picked" : ""}${event.problem ? " problem" : ""}${isNewest ? " newest" : ""}`} role="row" aria-rowindex=${index + 2}>
    <span role="cell" class="num soft" title=${clock(event.at, true)}>+${duration(event.at - from)}</span>
    <span role="cell" class=${`clip tone-${type.tone}`}><span class="mono" aria-hidden="true">${type.glyph} </span>${visible(type.word)}</span>
    <span role="cell" class="clip soft e-phase" title=${phase ? visible(phase.name) : ""}>${phase ? visible(phase.name) : ""}</span>
    <span role="cell" class="clip"><a class=${`row-link${event.type === "tool_call" ? " mono" : ""}`} href=${target} title=${label} aria-current=${isSelected ? "true" : undefined}><${Marked} text=${label || "–"} find=${find} /></a></span>
    <span role="cell" class="num">${event.took == null ? "" : duration(event.took)}</span>
    <span role="cell" class="num e-tokens">${event.tokens == null ? "" : short(event.tokens)}</span>
  </div>`;
}

function matches(event, words) {
  return event.label.toLowerCase().includes(words) || event.name.toLowerCase().includes(words) || event.type.includes(words);
}
