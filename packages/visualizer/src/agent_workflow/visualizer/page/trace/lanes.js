/** The lanes of a trace on their time axis. */
import { html, useCallback, useMemo, useRef, useState } from "../core/html.js";
import { ago, clock, duration, plural } from "../core/format.js";
import { useWidth } from "../core/layout.js";
import { addUp } from "../core/money.js";
import { statusOf } from "../core/status.js";
import { visible } from "../core/text.js";
import { MoneyParts } from "../parts/money-parts.js";
import { ContextBar } from "../parts/values.js";
import { drawn } from "./lanes-model.js";
import { moneyByAgent } from "./spend.js";
import { Subagents } from "./subagents.js";

const MARKS = 16;
/** More sub-agents than this are folded into their parent at first. */
const OPEN_AT_FIRST = 8;

export function Lanes({ trace, now, collapse, onCollapse, selectedPhase, selectedEvent, addressOfPhase, onEvent, spend }) {
  const frame = useRef(null);
  const width = useWidth(frame, 640);
  const { session, phases, agents, log } = trace;
  const [chosen, setChosen] = useState(() => new Map());
  const isFolded = useCallback((key, below) => chosen.get(key) ?? below > OPEN_AT_FIRST, [chosen]);
  const nested = useMemo(() => new Subagents(log?.events ?? [], log?.byId ?? new Map(), phases), [log, trace.version, phases]);
  // Whose lane an agent has is known when all events are here.
  const known = trace.reading ? agents.filter((agent) => phases.some((phase) => phase.owner === agent.agent)) : agents;
  const model = useMemo(
    () => drawn({ session, phases, agents: known, log, now, width: Math.max(200, width - 16), collapse, nested, isFolded }),
    [session, phases, agents, log, trace.version, trace.reading, now, width, collapse, nested, isFolded],
  );
  const spent = useMemo(() => moneyByAgent(log?.events ?? []), [log, trace.version]);
  const { axis, lanes, newest, extent } = model;
  const lost = session.shown_status === "lost";
  const selected = selectedEvent ? log?.byId.get(selectedEvent) : null;
  const newestAt = log?.newest ? log.newest.end ?? log.newest.at : null;
  const anyGap = axis.gaps.length > 0;
  return html`<section class="lanes-section" aria-label="Timeline">
    <div class=${`lanes${lanes.some((lane) => lane.depth) ? " has-subagents" : ""}`}>
      <div class="lane-labels">
        ${lanes.map((lane) => html`<${LaneLabel} key=${lane.key} lane=${lane} spend=${spend} spent=${spent} nested=${nested} onFold=${() => setChosen(new Map(chosen).set(lane.key, !lane.folded))} />`)}
        <div class="axis-label small soft">
          ${anyGap ? html`<label class="check"><input type="checkbox" checked=${collapse} onChange=${onCollapse} /> fold idle time</label>` : "time since the start"}
        </div>
      </div>
      <div class="lane-scroll" ref=${frame} tabindex="0" role="group" aria-label="Lanes, scrollable">
        <div class="lane-tracks" style=${{ width: `${axis.width}px` }}>
          ${axis.gaps.map((gap) => html`<div key=${`gap-${gap.from}`} class=${`gap${gap.collapsed ? " collapsed" : ""}`} style=${{ left: `${gap.x}px`, width: `${gap.width}px` }} title=${`${duration(gap.to - gap.from)} idle: no phase was open`}></div>`)}
          ${lanes.map((lane) => html`<${Track} key=${lane.key} lane=${lane} axis=${axis} lost=${lost} moving=${extent.moving} selectedPhase=${selectedPhase} selected=${selected} addressOfPhase=${addressOfPhase} onEvent=${onEvent} from=${extent.from} />`)}
          ${newest != null && html`<div class=${`newest-line${extent.moving ? " live" : ""}`} style=${{ left: `${Math.min(newest, axis.width - 1)}px` }}></div>`}
          <div class="axis small soft" aria-hidden="true">
            ${axis.marks().map((mark) => html`<span key=${mark.offset} class="axis-mark" style=${{ left: `${mark.x}px` }}>${mark.offset === 0 ? clock(extent.from) : `+${duration(mark.offset)}`}</span>`)}
          </div>
        </div>
      </div>
    </div>
    <p class="lanes-legend small soft">
      <span class="legend tool">tool call</span> <span class="legend bad">failed</span> ${lanes.some((lane) => lane.marks.wait.length) && html`<span class="legend wait">denied, or tried again</span>`} <span class="legend good">gate passed</span> <span class="legend hand">handoff</span>
      ${newestAt != null && html`<span class="legend newest">newest event ${extent.moving ? ago(now - newestAt) : `at +${duration(newestAt - extent.from)}`}</span>`}
      ${axis.gaps.map((gap) => html`<span key=${gap.from} class="legend gap-sign">${duration(gap.to - gap.from)} idle after +${duration(gap.from - extent.from)}</span>`)}
    </p>
  </section>`;
}

/** A label and its track are of one height, which is what the label needs. */
function shapeOf(lane) {
  return [`lane-${lane.kind}`, lane.depth && "nested", lane.depth && !lane.agent && "plain-lane", lane.below && "has-nested"].filter(Boolean).join(" ");
}

function LaneLabel({ lane, spend, spent, nested, onFold }) {
  const agent = lane.agent;
  const parts = moneyOf(lane, spend, spent, nested);
  const color = /^#[0-9a-f]{3,8}$/i.test(agent?.color ?? "") ? agent.color : null;
  return html`<div class=${`lane-label ${shapeOf(lane)}`} style=${lane.depth ? { paddingLeft: `${0.5 + Math.min(lane.depth, 3) * 0.75}rem` } : {}}>
    <div class="lane-name" title=${visible([lane.name, lane.sub?.above?.purpose].filter(Boolean).join(" · "))}><span class="clip">${lane.kind === "agent" && html`<span class="swatch" style=${color ? { background: color } : {}}></span>`}${visible(lane.name)}</span>
      ${parts.length > 0 && html`<span class="soft small num lane-cost">${parts.every((part) => part.kind === "unknown") ? html`<span class="unknown">cost unknown</span>` : html`<${MoneyParts} parts=${parts} brief />`}</span>`}</div>
    ${lane.kind === "agent" && (agent || !lane.depth) && html`<div class="clip small soft" title=${visible([agent?.coding_agent, agent?.model].filter(Boolean).join(" · "))}>${modelOf(agent)}</div>
      ${agent?.coding_agent || agent?.context_tokens != null ? html`<${ContextBar} used=${agent?.context_tokens} window=${agent?.context_window} />` : null}`}
    ${lane.below > 0 && html`<div><button type="button" class="plain small fold" aria-expanded=${lane.folded ? "false" : "true"} onClick=${onFold} title=${lane.folded ? "their marks are in this lane, their cost in its sum" : "fold them into this lane"}>${lane.folded ? "▸" : "▾"} ${plural(lane.below, "sub-agent")}</button></div>`}
  </div>`;
}

/** What a lane's agent spent; what folded sub-agents were told to have spent apart from it is part of it, once. */
function moneyOf(lane, spend, spent, nested) {
  if (lane.sub) return addUp(subsFrom(lane.sub, lane.folded, nested).map((sub) => spent.get(sub.agent) ?? []));
  const rows = spend?.rows.filter((row) => lane.phases.includes(row.phase) && row.ended) ?? [];
  const inPhases = [...nested.subs.values()].filter((sub) => sub.agent && lane.phases.some((phase) => phase.phase_id === sub.phase));
  if (lane.folded || inPhases.length === 0) return addUp(rows.map((row) => row.money));
  return spent.get(lane.name) ?? [];
}

function subsFrom(sub, withInner, nested) {
  if (!withInner) return [sub];
  return [sub, ...[...nested.subs.values()].filter((one) => one.parent === sub.key).flatMap((one) => subsFrom(one, true, nested))];
}

function modelOf(agent) {
  if (typeof agent?.model === "string" && agent.model) return visible(agent.model);
  return agent && !agent.coding_agent ? html`<span class="soft" title="no coding agent was recognised">a command</span>` : html`<span class="unknown">${agent?.coding_agent ? `${visible(agent.coding_agent)} · ` : ""}model unknown</span>`;
}

function Track({ lane, axis, lost, moving, selectedPhase, selected, addressOfPhase, onEvent, from }) {
  const [hover, setHover] = useState(null);
  const failed = lane.marks.bad.length;
  const nearest = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const x = event.clientX - box.left;
    let best = null;
    for (const list of [lane.marks.bad, lane.marks.wait, lane.marks.good, lane.marks.hand, lane.marks.tool]) {
      for (const mark of list) {
        const far = Math.abs(mark.x - x) - (list === lane.marks.bad ? 3 : 0);
        if (far <= 8 && (!best || far < best.far)) best = { ...mark, far };
      }
    }
    return best;
  };
  const here = selected && lane.phases.some((phase) => phase.phase_id === selected.phase) ? axis.at(selected.at) : null;
  return html`<div class=${`track ${shapeOf(lane)}`}>
    ${lane.blocks.map((block) => html`<${Block} key=${block.phase.phase_id} block=${block} lost=${lost} moving=${moving} isSelected=${block.phase.phase_id === selectedPhase} target=${addressOfPhase(block.phase.phase_id)} />`)}
    ${lane.turns.map((turn, index) => html`<${Turn} key=${index} turn=${turn} name=${lane.name} onEvent=${onEvent} />`)}
    <svg class="marks" width=${axis.width} height=${MARKS} role="img" aria-label=${`${visible(lane.name)}: ${plural(count(lane.marks.tool) + failed, "mark")}, ${failed} failed`}
      onMouseMove=${(event) => setHover(nearest(event))} onMouseLeave=${() => setHover(null)} onClick=${(event) => { const mark = nearest(event); if (mark) onEvent(mark.event.id); }}>
      <rect width=${axis.width} height=${MARKS} class="press" />
      <path class="tool" d=${path(lane.marks.tool, 4, 12)} />
      <path class="hand" d=${lane.marks.hand.map(({ x }) => `M${x + 3} 8l3 -4l3 4l-3 4z`).join("")} />
      <path class="good" d=${lane.marks.good.map(({ x }) => `M${x - 3} 8l2 3l4 -6`).join("")} />
      <path class="wait" d=${lane.marks.wait.map(({ x }) => `M${x - 3} 8a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M${x - 2} 10l4 -4`).join("")} />
      <path class="bad" d=${lane.marks.bad.map(({ x }) => `M${x} 6V${MARKS}M${x - 3} 0l6 6m0 -6l-6 6`).join("")} />
      ${here != null && html`<path class="here" d=${`M${here} 0V${MARKS}`} />`}
      ${hover && html`<title>${`+${duration(hover.event.at - from)} ${hover.event.label}${hover.more ? ` (and ${hover.more} more here)` : ""}`}</title>`}
    </svg>
  </div>`;
}

const TURN_WORDS = { good: "answered", bad: "not answered", still: "how it ended was not recorded" };

/** A stretch of a sub-agent's work; a press opens the call or the prompt that began it. */
function Turn({ turn, name, onEvent }) {
  const words = `${visible(name)}: ${turn.open ? "at work" : TURN_WORDS[turn.tone]}, ${duration(turn.end - turn.start)}`;
  const style = { left: `${turn.x}px`, width: `${turn.width}px` };
  if (!turn.event) return html`<span class=${`turn tone-${turn.open ? "live" : "still"}`} style=${style} title=${words}></span>`;
  return html`<button type="button" class=${`turn tone-${turn.open ? "live" : turn.tone}`} style=${style} title=${words} aria-label=${words} onClick=${() => onEvent(turn.event.id)}></button>`;
}

function Block({ block, lost, moving, isSelected, target }) {
  const { phase } = block;
  const dead = lost && phase.status === "running";
  const status = statusOf(dead ? "lost" : phase.status);
  const took = duration(block.end - block.start);
  const open = phase.status === "running" && !dead && moving;
  const rest = `: ${status.word}, ${dead ? `no end; last sign of life after ${took}` : open ? `${took} so far` : took}${phase.error ? `, ${visible(phase.error)}` : ""}`;
  const words = `${visible(phase.name)}${rest}`;
  return html`<a class=${`block tone-${status.tone}${isSelected ? " selected" : ""}${open ? " open" : ""}${dead ? " dead" : ""}`} href=${target} title=${`${words}\n${visible(phase.description ?? "")}`} aria-current=${isSelected ? "true" : undefined}
    style=${{ left: `${block.x}px`, width: `${block.width}px` }}>
    <span class="glyph mono" aria-hidden="true">${status.glyph}</span><span class=${block.width > 44 ? "clip" : "sr"}>${visible(phase.name)}</span><span class="sr">${rest}</span>${block.width > 110 && html`<span class="small num took" aria-hidden="true">${took}</span>`}
  </a>`;
}

function path(marks, top, bottom) {
  return marks.map(({ x }) => `M${x} ${top}V${bottom}`).join("");
}

function count(marks) {
  return marks.reduce((sum, mark) => sum + 1 + mark.more, 0);
}
