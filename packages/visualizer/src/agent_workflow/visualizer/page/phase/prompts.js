/** What was sent to the agent: each send's prompts, fetched when they are opened. */
import { html, useEffect, useState } from "../core/html.js";
import { readPrompts, readSend } from "../core/endpoints.js";
import { visible } from "../core/text.js";
import { TextBlock } from "../parts/text-block.js";
import { Time } from "../parts/values.js";

export function Prompts({ project, adwId, phase, seenAt }) {
  const [prompts, setPrompts] = useState(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    readPrompts(project, adwId, phase.owner, abort.signal).then(
      (found) => {
        setPrompts(found);
        setFault("");
      },
      (error) => error.name !== "AbortError" && setFault(error.message),
    );
    return () => abort.abort();
  }, [phase.phase_id, seenAt]);
  if (fault) return html`<p class="note tone-wait">${visible(fault)}</p>`;
  if (!prompts) return html`<p class="soft">Reading …</p>`;
  const own = prompts.sends.filter((send) => send.seq === phase.seq);
  if (own.length > 0) {
    return html`<p class="small soft">${own.length === 1 ? "Asked once." : `Asked ${own.length} times: the first prompt, then what was sent back.`}</p>
      <ol class="stack">${own.map((send, index) => html`<li key=${send.label}><${Send} project=${project} adwId=${adwId} agent=${phase.owner} send=${send} open=${index === 0} /></li>`)}</ol>`;
  }
  if (prompts.system == null && prompts.user == null) return html`<p class="soft">No prompt is kept for ${visible(phase.owner)}.</p>`;
  return html`<p class="small soft">This run kept only the newest prompts of ${visible(phase.owner)}, not one for each send.</p><${Texts} texts=${prompts} />`;
}

function Send({ project, adwId, agent, send, open }) {
  const [isOpen, setOpen] = useState(open);
  const [texts, setTexts] = useState(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    if (!isOpen || texts) return undefined;
    const abort = new AbortController();
    readSend(project, adwId, agent, send.label, abort.signal).then(setTexts, (error) => error.name !== "AbortError" && setFault(error.message));
    return () => abort.abort();
  }, [isOpen]);
  return html`<details open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${send.number <= 1 ? "first prompt" : `send ${send.number}`} <span class="soft small"><${Time} at=${send.sent_at} form="clock" /></span></summary>
    ${fault && html`<p class="note tone-wait">${visible(fault)}</p>`}
    ${isOpen && (texts ? html`<${Texts} texts=${texts} />` : !fault && html`<p class="soft">Reading …</p>`)}
  </details>`;
}

function Texts({ texts }) {
  return html`<div class="stack">
    ${texts.user != null && html`<${TextBlock} title=${`user prompt · ${lines(texts.user)}`} text=${texts.user} />`}
    ${texts.system != null && html`<${TextBlock} title=${`system prompt · ${lines(texts.system)}`} text=${texts.system} />`}
  </div>`;
}

function lines(text) {
  const number = text.split("\n").length;
  return number === 1 ? "1 line" : `${number} lines`;
}
