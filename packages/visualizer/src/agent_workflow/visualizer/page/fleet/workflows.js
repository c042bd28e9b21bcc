/** Workflows of the index and their graphs. */
import { html, useMemo } from "../core/html.js";
import { plural } from "../core/format.js";
import { usePolled } from "../core/polling.js";
import { readWorkflows } from "../core/fleet-endpoints.js";
import { address, go } from "../core/router.js";
import { statusOf } from "../core/status.js";
import { oneLine, visible } from "../core/text.js";
import { Fault } from "../parts/fault.js";
import { StatusMark } from "../parts/status-mark.js";
import { placed } from "./graph.js";
import { RunLink } from "./words.js";

const WIDE = 190;
const HIGH = 64;
const BOX = { width: 150, height: 44 };

export function Workflows({ chosen }) {
  const { data, fault } = usePolled("workflows", readWorkflows, () => 3000);
  const all = data?.workflows ?? [];
  const shown = chosen ? all.filter((one) => one.workflow_id === chosen) : all;
  return html`<${Fault} fault=${fault} stale=${Boolean(data)} />
    ${data && shown.length === 0 && html`<div class="empty"><h2>${chosen ? `No workflow ${visible(chosen)}` : "No workflow is in the index"}</h2>${chosen && html`<p><a href=${address(["fleet", "workflows"])}>All workflows</a></p>`}</div>`}
    ${shown.map((workflow) => html`<section class="fleet-part" key=${workflow.workflow_id} aria-label=${`Workflow ${visible(workflow.workflow_id)}`}>
      <h2><a href=${address(["fleet", "workflows", workflow.workflow_id])}>${visible(workflow.workflow_id)}</a> <${StatusMark} word=${workflow.workflow_state} /></h2>
      <p class="small soft">${plural(workflow.nodes.length, "node")} · pack ${visible(workflow.pack_id) || "unknown"} · owned by <${RunLink} id=${workflow.owner_run_id} /></p>
      <${Graph} workflow=${workflow} />
      <div class="scrolls" tabindex="0" role="group" aria-label="Nodes, scrollable"><table><thead><tr><th scope="col">state</th><th scope="col">node</th><th scope="col">after</th><th scope="col">executor</th><th scope="col" class="num">attempt</th><th scope="col">run</th><th scope="col">ended because</th></tr></thead>
        <tbody>${inOrder(workflow).map((node) => html`<tr key=${node.node_id}><td><${StatusMark} word=${node.state} /></td><td>${visible(node.node_id)}<div class="small soft">${visible(node.ticket_id)}</div></td><td class="wrap">${visible(node.dependencies) || html`<span class="soft">nothing</span>`}</td><td>${visible(node.executor)}<div class="small soft">${visible(node.model)}</div></td><td class="num">${node.attempt}</td><td>${node.bound_run_id ? html`<${RunLink} id=${node.bound_run_id} />` : html`<span class="soft">none</span>`}</td><td class="wrap">${visible(node.terminal_reason)}</td></tr>`)}</tbody></table></div>
    </section>`)}`;
}

/** As the graph reads: from left to right, each column from the top. */
function inOrder(workflow) {
  const { places } = placed(workflow.nodes, workflow.edges);
  const at = (node) => places.get(node.node_id);
  return [...workflow.nodes].sort((left, right) => at(left).column - at(right).column || at(left).row - at(right).row);
}

function Graph({ workflow }) {
  const { places, columns, rows } = useMemo(() => placed(workflow.nodes, workflow.edges), [workflow]);
  const width = columns * WIDE;
  const height = rows * HIGH;
  const at = (id) => places.get(id);
  return html`<div class="scrolls graph" tabindex="0" role="group" aria-label=${`Graph of ${plural(workflow.nodes.length, "node")}; the table below says the same`}>
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
      ${workflow.edges.filter((edge) => at(edge.source) && at(edge.target)).map((edge) => {
        const [from, to] = [at(edge.source), at(edge.target)];
        const [x1, y1] = [from.column * WIDE + BOX.width + 2, from.row * HIGH + 10 + BOX.height / 2];
        const [x2, y2] = [to.column * WIDE - 2, to.row * HIGH + 10 + BOX.height / 2];
        return html`<path key=${`${edge.source}>${edge.target}`} class="edge" d=${`M${x1} ${y1}C${x1 + 24} ${y1} ${x2 - 24} ${y2} ${x2 - 6} ${y2}m-5 -4l6 4l-6 4`} />`;
      })}
      ${workflow.nodes.map((node) => {
        const { column, row } = at(node.node_id);
        const status = statusOf(node.state);
        return html`<g key=${node.node_id} class=${`node tone-${status.tone}${node.bound_run_id ? " linked" : ""}`} transform=${`translate(${column * WIDE} ${row * HIGH + 10})`} onClick=${() => node.bound_run_id && go(address(["fleet", "run", node.bound_run_id]))}>
          <title>${`${visible(node.node_id)}: ${visible(node.state)}`}</title><rect x="1" y="0" width=${BOX.width} height=${BOX.height} rx="4" />
          <text x="10" y="18" class="node-name">${oneLine(node.node_id, 20)}</text><text x="10" y="34" class="node-state">${status.glyph} ${oneLine(node.state, 20)}</text></g>`;
      })}
    </svg></div>`;
}
