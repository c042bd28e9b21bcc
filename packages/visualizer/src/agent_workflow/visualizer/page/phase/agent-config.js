/** How the agent of a phase was set up, as its agent_start says. */
import { html } from "../core/html.js";
import { visible } from "../core/text.js";
import { CopyButton } from "../parts/copy-button.js";

export function AgentConfig({ starts, agent }) {
  const start = starts[starts.length - 1]?.payload ?? {};
  const rows = [
    ["coding agent", start.coding_agent ?? agent?.coding_agent],
    ["model", start.model ?? agent?.model],
    ["thinking", start.thinking],
    ["purpose", start.purpose],
    ["tools", "tools" in start ? (start.tools == null ? "all tools" : Array.isArray(start.tools) && start.tools.length === 0 ? "no tools" : [].concat(start.tools).join(", ")) : null],
    ["harness", Array.isArray(start.harness_engineering) ? start.harness_engineering.join(", ") || "nothing added" : start.harness_engineering],
    ["command", Array.isArray(start.command) ? start.command.join(" ") : start.command],
    ["folder", start.cwd],
    ["branch", start.branch],
    ["session", start.session_id ?? agent?.session_id],
  ].filter(([, value]) => value != null && value !== "");
  if (rows.length === 0) return html`<p class="soft">This run did not record how the agent was set up.</p>`;
  return html`<table class="pairs"><tbody>${rows.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="wrap">${visible(typeof value === "string" ? value : JSON.stringify(value))} ${name === "session" && html`<${CopyButton} text=${String(value)} what="agent session id" />`}</td></tr>`)}</tbody></table>`;
}
