/** What each agent did when: one thin line an agent, a mark for each event, failures tall and red with a head. */
import { html } from "../core/html.js";
import { duration } from "../core/format.js";
import { extentOf, spanOf } from "../trace/lanes-model.js";
import { bendAxis } from "../trace/axis.js";
import { MOVING } from "../core/status.js";
import { visible } from "../core/text.js";

const LANE = 11;
const WIDTH = 200;
const MOST = 4;
const BAD = new Set(["error", "gate_fail"]);

export function AgentTimeline({ session, now }) {
  const markers = session.markers ?? [];
  const lanes = new Map();
  for (const marker of markers) {
    const list = lanes.get(marker.lane) ?? [];
    list.push(marker);
    lanes.set(marker.lane, list);
  }
  if (lanes.size === 0) return html`<span class="soft small">${session.agents.length ? session.agents.map((one) => visible(one.agent)).join(", ") : "no agent"}</span>`;
  const moving = MOVING.has(session.shown_status);
  const extent = extentOf(session, session.phases, { newest: markers[markers.length - 1] }, now);
  const spans = session.phases.map((phase) => spanOf(phase, extent, null)).filter(Boolean);
  // The same bent time as in the trace: idle time folded, nothing too short to see.
  const axis = bendAxis(spans.length ? spans : [{ start: extent.from, end: extent.to }], { ...extent, width: WIDTH - 4, collapse: true, least: 3, gap: 5 });
  const x = (marker) => (2 + axis.at(marker.at) * ((WIDTH - 4) / axis.width)).toFixed(1);
  const names = [...lanes.keys()];
  const shown = names.length > MOST ? names.slice(0, MOST - 1) : names;
  const newest = markers.reduce((best, one) => (one.at >= best.at ? one : best), markers[0]);
  const height = shown.length * LANE;
  const label = names.map((name) => `${visible(name)}: ${lanes.get(name).length} marks`).join("; ");
  return html`<div class="agent-timeline">
    <div class="agent-names small soft">${shown.map((name) => html`<div class="clip" title=${visible(name)}>${visible(name)}</div>`)}
      ${names.length > shown.length && html`<div title=${names.slice(shown.length).map(visible).join(", ")}>+${names.length - shown.length} more</div>`}
    </div>
    <svg viewBox=${`0 0 ${WIDTH} ${height}`} height=${height} preserveAspectRatio="none" role="img" aria-label=${label}>
      <title>${`${label}; ${duration(extent.to - extent.from)} in all`}</title>
      ${shown.map((name, lane) => html`<g key=${name} transform=${`translate(0 ${lane * LANE})`}>
        <path class="rail" d=${`M0 ${LANE / 2}H${WIDTH}`} />
        <path class="good" d=${ticks(lanes.get(name).filter((one) => !isBad(one)), x, 2.5, LANE - 2.5)} />
        <path class="bad" d=${ticks(lanes.get(name).filter(isBad), x, 0.5, LANE - 0.5)} />
        ${moving && newest.lane === name && html`<path class="newest" d=${ticks([newest], x, 0, LANE)} />`}
      </g>`)}
    </svg>
  </div>`;
}

function isBad(marker) {
  return BAD.has(marker.type) || marker.ok === false;
}

function ticks(markers, x, top, bottom) {
  return markers.map((one) => `M${x(one)} ${top}V${bottom}`).join("");
}
