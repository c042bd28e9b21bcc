/** The index itself: how fresh, what it could not read, what it noticed. */
import { html, useState } from "../core/html.js";
import { bytes, count, plural } from "../core/format.js";
import { usePolled } from "../core/polling.js";
import { readRows, verify } from "../core/fleet-endpoints.js";
import { visible } from "../core/text.js";
import { Fault } from "../parts/fault.js";
import { Time } from "../parts/values.js";
import { table } from "./run-detail.js";
import { RunLink } from "./words.js";

export function IndexHealth({ status }) {
  const errors = usePolled("errors", (signal) => readRows("errors", { limit: 500 }, signal), () => 5000);
  const notices = usePolled("notices", (signal) => readRows("notices", { limit: 500 }, signal), () => 5000);
  const [check, setCheck] = useState({ busy: false, report: null, fault: "" });
  const run = async (full) => {
    setCheck({ busy: true, report: null, fault: "" });
    try {
      setCheck({ busy: false, report: await verify(full ? { full: true } : {}), fault: "" });
    } catch (error) {
      setCheck({ busy: false, report: null, fault: error.message });
    }
  };
  const { report } = check;
  return html`${status && html`<dl class="facts fleet-part">
      ${[["database", html`<span class="mono wrap">${visible(status.database)}</span>`], ["state root", html`<span class="mono wrap">${visible(status.state_root)}</span>`], ["runs", count(status.run_count)], ["size", bytes(status.size_bytes)], ["schema", status.schema_version], ["last sync", status.last_sync_at ? html`<${Time} at=${status.last_sync_at} />` : "never"], ["covers", (status.last_sync_scope ?? "").replace("+", " and ")], ["SQLite", status.sqlite_version]].map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
    </dl>`}
    <div class="toolbar"><button type="button" disabled=${check.busy} onClick=${() => run(false)}>Verify the database</button><button type="button" disabled=${check.busy} onClick=${() => run(true)}>Verify every source file</button><span class="small soft">${check.busy ? "Reading …" : "reads only"}</span></div>
    <div role="status">${check.fault && html`<p class="note tone-wait">${visible(check.fault)}</p>`}
      ${report && html`<div class=${`note tone-${report.valid ? "good" : "bad"}`}><p><strong>${report.valid ? "The index is sound" : "The index does not hold"}</strong></p>
        <p class="small">integrity ${visible([].concat(report.integrity_check).join(", "))} · ${plural(report.foreign_key_errors.length, "foreign key error")} · sources ${visible(report.source_verification)}${report.source_mismatches.length ? ` · ${plural(report.source_mismatches.length, "file")} differ` : ""}</p>
        ${report.source_mismatches.slice(0, 50).map((one, index) => html`<p key=${index} class="small wrap mono">${visible(JSON.stringify(one))}</p>`)}</div>`}</div>
    <section class="fleet-part" aria-label="Errors"><h2>Could not be read <span class="soft small num">${errors.data ? count(errors.data.rows.length) : ""}</span></h2>
      <${Fault} fault=${errors.fault} stale=${Boolean(errors.data)} />
      ${errors.data && (errors.data.rows.length === 0 ? html`<p class="soft">Every run could be read.</p>` : table(["run", "category", "file", "detail", "found"], errors.data.rows.map((one) => [one.session_id ? html`<${RunLink} id=${one.session_id} />` : html`<span class="soft">none</span>`, visible((one.category ?? "").replaceAll("_", " ")), html`<span class="mono wrap small">${visible(one.source_path)}</span>`, html`<span class="wrap">${visible(one.detail)}</span>`, html`<${Time} at=${one.detected_at} />`])))}</section>
    <section class="fleet-part" aria-label="Notices"><h2>Noticed <span class="soft small num">${notices.data ? count(notices.data.rows.length) : ""}</span></h2>
      ${notices.data && (notices.data.rows.length === 0 ? html`<p class="soft">Nothing.</p>` : table(["run", "what", "detail"], notices.data.rows.map((one) => [one.session_id ? html`<${RunLink} id=${one.session_id} />` : "", visible((one.category ?? one.kind ?? "").replaceAll("_", " ")), html`<span class="wrap">${visible(one.detail ?? one.schema_id ?? JSON.stringify(one))}</span>`])))}</section>`;
}
