/** The list of sessions, newest first. */
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../core/html.js";
import { archiveSession } from "../core/endpoints.js";
import { ago, count, plural } from "../core/format.js";
import { useKeys } from "../core/keys.js";
import { rem, useMedia } from "../core/layout.js";
import { liveness } from "../core/liveness.js";
import { useNotifying } from "../core/notify.js";
import { useNow } from "../core/polling.js";
import { address, go, setQuery } from "../core/router.js";
import { MOVING } from "../core/status.js";
import { visible } from "../core/text.js";
import { Fault } from "../parts/fault.js";
import { SearchBox } from "../parts/search-box.js";
import { VirtualList } from "../parts/virtual-list.js";
import { lastQuery } from "./last-query.js";
import { SessionRow } from "./session-row.js";
import { lastVisit, markAllSeen, stillLooking } from "./visits.js";
import { useSessionWindow } from "./window.js";

const STATUSES = ["working", "waiting", "stalled", "lost", "success", "fail"];
const FILTERS = ["q", "status", "workflow", "archived"];
const SORTS = { "": "newest first", oldest: "oldest first", cost: "dearest first", tokens: "most tokens first", duration: "longest first" };

export function Sessions({ project, route, scope }) {
  const filters = useMemo(() => Object.fromEntries([...FILTERS, "sort"].map((name) => [name, route.query.get(name) ?? ""])), [route]);
  const narrow = useMedia("(max-width: 760px)");
  const rowHeight = rem(narrow ? 9.75 : 2.875);
  const { rows, total, extra, fault, onRange, refresh, stale } = useSessionWindow(project, filters);
  const known = rows.filter(Boolean);
  const moving = known.some((row) => MOVING.has(row.shown_status));
  const now = useNow(moving ? 1000 : 10_000);
  const [since, setSince] = useState(() => lastVisit());
  const list = useRef(null);
  const active = useRef({ id: null, index: -1 });
  const [undo, setUndo] = useState(null);
  const [said, setSaid] = useState("");
  const notifying = useNotifying();

  useEffect(() => {
    document.title = "Sessions · agent-workflow";
    const timer = setInterval(stillLooking, 30_000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    liveness.set(moving);
    return () => liveness.set(false);
  }, [moving]);
  useEffect(() => lastQuery.set(route.query), [route]);

  const openOf = (session) => address(scope(["s", session.adw_id]));
  // Rows that come in above move the one that is looked at.
  const at = () => places.get(active.current.id) ?? active.current.index;
  const focus = (index) => {
    const most = (total ?? 0) - 1;
    if (most < 0) return;
    const next = Math.max(0, Math.min(most, index));
    active.current = { id: rows[next]?.adw_id, index: next };
    list.current?.reveal(next);
    requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector(`[data-row="${next}"]`)?.focus({ preventScroll: true })));
  };
  const seek = (step) => {
    for (let index = at() + step; index >= 0 && index < rows.length; index += step) {
      if (rows[index] && ["fail", "lost"].includes(rows[index].shown_status)) return focus(index);
    }
    return setSaid(step > 0 ? "no failed session further down" : "no failed session further up");
  };
  useKeys({
    j: () => focus(at() + 1),
    k: () => focus(at() - 1),
    ArrowDown: () => at() >= 0 && (focus(at() + 1), true),
    ArrowUp: () => at() >= 0 && (focus(at() - 1), true),
    Home: () => focus(0),
    End: () => focus((total ?? 1) - 1),
    n: () => seek(1),
    N: () => seek(-1),
    Enter: () => {
      const row = rows[at()];
      if (row) go(openOf(row));
      return Boolean(row);
    },
    Escape: () => {
      if (!FILTERS.some((name) => filters[name])) return false;
      setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])));
      return true;
    },
  });

  const onArchive = async (session) => {
    const archived = !session.archived;
    try {
      await archiveSession(project, session.adw_id, archived);
      setUndo(archived ? session : null);
      setSaid(archived ? `${session.adw_id} is archived` : `${session.adw_id} is back in the list`);
    } catch (error) {
      setUndo(null);
      setSaid(`${session.adw_id}: ${error.message}`);
    }
    refresh();
  };

  const places = useMemo(() => new Map(rows.map((row, index) => [row?.adw_id, index]).filter(([id]) => id)), [rows]);
  const keyOf = (index) => rows[index]?.adw_id;
  const indexOf = useCallback((key) => places.get(key) ?? 0, [places]);
  const filtered = FILTERS.some((name) => filters[name] && name !== "archived");

  return html`
    <div class="sessions-head">
      <h1>${filters.archived ? "Archived sessions" : "Sessions"} <span class="soft small num" aria-live="polite">${total == null ? "" : count(total)}</span></h1>
      <${Digest} extra=${extra} rows=${known} since=${since} now=${now} onSeen=${() => { markAllSeen(); setSince(Date.now()); }} />
    </div>
    <div class="toolbar" role="search" aria-label="Filter the sessions">
      <${SearchBox} name="q" value=${filters.q} label="Search sessions" placeholder="Search  ( / )" title="in request, workflow, id, engineer and errors" filter />
      <select aria-label="Status" value=${filters.status} onChange=${(event) => setQuery({ status: event.currentTarget.value }, { replace: false })}>
        <option value="">any status</option>${statuses(extra).map(([word, number]) => html`<option value=${word}>${visible(word)}${number == null ? "" : ` (${count(number)})`}</option>`)}
      </select>
      <select aria-label="Workflow" value=${filters.workflow} onChange=${(event) => setQuery({ workflow: event.currentTarget.value }, { replace: false })}>
        <option value="">any workflow</option>${Object.entries(extra.workflows ?? {}).map(([name, number]) => html`<option value=${name}>${visible(name)} (${count(number)})</option>`)}
      </select>
      <select aria-label="Order" value=${filters.sort} onChange=${(event) => setQuery({ sort: event.currentTarget.value }, { replace: false })}>${Object.entries(SORTS).map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select>
      <label class="check"><input type="checkbox" checked=${filters.archived === "1"} onChange=${(event) => setQuery({ archived: event.currentTarget.checked ? "1" : null }, { replace: false })} /> archived</label>
      ${notifying.toggle && html`<button type="button" aria-pressed=${notifying.on ? "true" : "false"} title="tell me, outside of this page, when a run ends or stalls" onClick=${async () => setSaid(await notifying.toggle())}>notify</button>`}
      ${filtered && html`<button type="button" onClick=${() => setQuery({ q: null, status: null, workflow: null })}>clear filters</button>`}
    </div>
    <${Fault} fault=${fault} stale=${known.length > 0} />
    <p class="said small" role="status">${visible(said)} ${undo && html`<button type="button" class="plain" onClick=${() => { const one = undo; setUndo(null); onArchive({ ...one, archived: true }); }}>undo</button>`}</p>
    ${total === 0 && !fault && !stale && html`<${Nothing} filtered=${filtered} archived=${filters.archived === "1"} />`}
    ${total == null && ["missing", "empty", "unknown"].includes(fault?.detail) && html`<${Nothing} />`}
    ${total == null && !fault && html`<p class="empty">Reading the sessions …</p>`}
    ${total > 0 && html`<div class=${`session-table${narrow ? " cards" : ""}`} role="table" aria-label=${`Sessions, ${SORTS[filters.sort] ?? SORTS[""]}`} aria-rowcount=${total + 1}>
      <div role="rowgroup" class=${narrow ? "sr" : "session-heads"}><div class="session-row session-head" role="row" aria-rowindex="1">
        ${["Status", "Request", "Agents", "Phases", "Cost", "Tokens", "Runtime", "Started", "Action"].map((name, index) => html`<span role="columnheader" class=${["c-status", "c-what", "c-agents", "c-phases", "c-cost num", "c-tokens num", "c-runtime num", "c-started num", "c-action"][index]}>${name === "Action" ? html`<span class="sr">${name}</span>` : name}</span>`)}
      </div></div>
      <${VirtualList} page count=${total} rowHeight=${rowHeight} keyOf=${keyOf} indexOf=${indexOf} onRange=${onRange} handle=${list}
        row=${(index) => rows[index]
          ? html`<${SessionRow} key=${rows[index].adw_id} session=${rows[index]} index=${index} now=${now} narrow=${narrow} target=${openOf(rows[index])} isNew=${isNew(rows[index], since)} onArchive=${onArchive} onFocus=${() => { active.current = { id: rows[index].adw_id, index }; }} />`
          : html`<div key=${`hole-${index}`} class=${`session-row hole${narrow ? " card" : ""}`} role="row" aria-rowindex=${index + 2}><span role="cell" class="soft">…</span></div>`} />
    </div>`}`;
}

/** The usual statuses, then whatever other words there are, each with its count. */
function statuses(extra) {
  const counts = extra.statuses ?? {};
  return [...new Set([...STATUSES, ...Object.keys(counts)])].map((word) => [word, extra.statuses ? counts[word] ?? 0 : null]);
}

function isNew(session, since) {
  if (since == null || !session.ended_at) return false;
  return Date.parse(session.ended_at) > since;
}

/** One line: what ended since the last visit. */
function Digest({ extra, rows, since, now, onSeen }) {
  const live = rows.filter((row) => MOVING.has(row.shown_status)).length;
  const fresh = since == null ? [] : rows.filter((row) => isNew(row, since));
  const tally = (word) => fresh.filter((row) => row.shown_status === word).length;
  const parts = [["success", "succeeded"], ["fail", "failed"], ["lost", "lost"]].map(([word, said]) => [tally(word), said]).filter(([number]) => number > 0);
  const running = extra.statuses?.working ?? live;
  return html`<p class="digest small soft">
    ${running ? html`<span class="tone-live">${count(running)} at work</span> · ` : ""}
    ${since == null ? "" : fresh.length === 0 ? `nothing ended since your last visit, ${ago(now - since)}` : html`since your last visit, ${ago(now - since)}: ${plural(fresh.length, "session")} ended: ${parts.map(([number, said]) => `${count(number)} ${said}`).join(", ")} <button type="button" class="plain small" onClick=${onSeen}>mark as seen</button>`}
  </p>`;
}

function Nothing({ filtered = false, archived = false }) {
  if (filtered) return html`<div class="empty"><h2>No session matches</h2><p>Press Esc, or <button type="button" class="plain" onClick=${() => setQuery({ q: null, status: null, workflow: null })}>clear the filters</button>.</p></div>`;
  if (archived) return html`<div class="empty"><h2>Nothing is archived</h2><p>A finished session can be put out of the list; nothing is deleted.</p></div>`;
  return html`<div class="empty"><h2>No session yet</h2><p>This page shows a run as soon as one starts. Record any agent command with <code>agent-workflow run -- COMMAND</code>, or see the whole chain with <code>agent-workflow demo</code>.</p></div>`;
}
