/** What each agent did when: one thin line an agent, a mark for each event, failures tall and red with a head. */
import { html } from "../core/html.js";
import { duration, moment } from "../core/format.js";
import { MOVING } from "../core/status.js";
import { visible } from "../core/text.js";

const LANE = 9;
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
  const from = moment(session.started_at) ?? Math.min(...markers.map((one) => one.at));
  const to = Math.max(...markers.map((one) => one.at), moving ? now : 0, from + 1);
  const names = [...lanes.keys()];
  const shown = names.length > MOST ? names.slice(0, MOST - 1) : names;
  const newest = markers.reduce((best, one) => (one.at >= best.at ? one : best), markers[0]);
  const height = shown.length * LANE;
  const label = names.map((name) => `${visible(name)}: ${lanes.get(name).length} marks`).join("; ");
  return html`<div class="agent-timeline">
    <div class="agent-names small soft">${shown.map((name) => html`<div class="clip" title=${visible(name)}>${visible(name)}</div>`)}
      ${names.length > shown.length && html`<div title=${names.slice(shown.length).map(visible).join(", ")}>+${names.length - shown.length} more</div>`}
    </div>
    <svg viewBox=${`0 0 200 ${height}`} height=${height} preserveAspectRatio="none" role="img" aria-label=${label}>
      <title>${`${label}; ${duration(to - from)} in all`}</title>
      ${shown.map((name, lane) => html`<g key=${name} transform=${`translate(0 ${lane * LANE})`}>
        <path class="rail" d=${`M0 ${LANE / 2}H200`} />
        <path class="good" d=${ticks(lanes.get(name).filter((one) => !isBad(one)), from, to, 2.5, LANE - 2.5)} />
        <path class="bad" d=${ticks(lanes.get(name).filter(isBad), from, to, 0.5, LANE - 0.5)} />
        ${moving && newest.lane === name && html`<path class="newest" d=${ticks([newest], from, to, 0, LANE)} />`}
      </g>`)}
    </svg>
  </div>`;
}

function isBad(marker) {
  return BAD.has(marker.type) || marker.ok === false;
}

function ticks(markers, from, to, top, bottom) {
  return markers.map((one) => `M${(2 + ((one.at - from) / (to - from)) * 196).toFixed(1)} ${top}V${bottom}`).join("");
}
