/** Checks the evidence of a run again, now. Reads only. */
import { html, useState } from "../core/html.js";
import { verify } from "../core/fleet-endpoints.js";
import { clock, plural } from "../core/format.js";
import { visible } from "../core/text.js";

const QUESTIONS = [["sealed", "sealed: every listed file matches its digest"], ["completed", "completed"], ["passing", "passing by itself"], ["reviewed", "reviewed"]];

export function VerifyButton({ id, run }) {
  const [state, setState] = useState({ busy: false, report: null, fault: "" });
  const check = async () => {
    setState({ busy: true, report: null, fault: "" });
    try {
      setState({ busy: false, report: { ...(await verify({ review: id })), at: Date.now() }, fault: "" });
    } catch (error) {
      setState({ busy: false, report: null, fault: error.message });
    }
  };
  const evidence = state.report?.review_evidence;
  return html`<section class="verify" aria-label="Verify">
    <button type="button" onClick=${check} disabled=${state.busy}>${state.busy ? "Reading every file …" : "Verify now"}</button>
    <span class="small soft">reads every file of ${visible(run.source_dir)} again; changes nothing</span>
    <div role="status">
      ${state.fault && html`<p class="note tone-wait">${visible(state.fault)}</p>`}
      ${state.report && html`<div class=${`note tone-${state.report.review_valid ? "good" : "wait"}`}>
        <p><strong>${state.report.review_valid ? "This evidence can be trusted, and was reviewed" : `Not everything holds: ${visible((state.report.review_verdict ?? "unknown").replaceAll("_", " "))}`}</strong> <span class="soft small">at ${clock(state.report.at)}</span></p>
        ${evidence && html`<ul class="answers">${QUESTIONS.map(([name, label]) => html`<li key=${name}><span class=${evidence[name] === "yes" ? "tone-good" : evidence[name] === "no" ? "tone-bad" : "tone-still"}>${evidence[name] === "yes" ? "✓" : evidence[name] === "no" ? "✗" : "?"} ${visible(evidence[name])}</span> ${label}</li>`)}</ul>`}
        ${(state.report.review_errors ?? []).map((text, index) => html`<p key=${index} class="wrap">${visible(text)}</p>`)}
        ${(state.report.source_mismatches ?? []).length > 0 && html`<p>${plural(state.report.source_mismatches.length, "file")} differ from the index.</p>`}
      </div>`}
    </div>
  </section>`;
}
