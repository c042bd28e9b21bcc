/** How the index compares with the files it mirrors. */
import { html } from "../core/html.js";
import { ago, count, exactTime, moment } from "../core/format.js";
import { useNow } from "../core/polling.js";

const WORDS = {
  current: ["✓", "good", "every run is as its files are"],
  stale: ["◔", "wait", "files have changed since the last sync"],
  incomplete: ["◐", "wait", "some runs could not be read, or are not in it yet"],
  missing: ["○", "still", "there is no index"],
};

export function Freshness({ status }) {
  const now = useNow(5000);
  if (!status) return null;
  const [glyph, tone, title] = WORDS[status.freshness] ?? ["?", "still", ""];
  const parts = [status.current_run_count && `${count(status.current_run_count)} current`, status.stale_run_count && `${count(status.stale_run_count)} stale`, status.error_count && `${count(status.error_count)} unreadable`, status.historical_run_count && `${count(status.historical_run_count)} of retired formats`].filter(Boolean);
  const at = moment(status.last_sync_at);
  return html`<p class="freshness small"><span class=${`status tone-${tone}`} title=${title}><span class="glyph" aria-hidden="true">${glyph}</span>index ${status.freshness}</span>
    <span class="soft"> ${parts.join(" · ")}${at == null ? "" : html` · synced <time datetime=${status.last_sync_at} title=${exactTime(status.last_sync_at)}>${ago(now - at)}</time>`}${status.freshness === "stale" ? html` · catch up with <code>agent-workflow index sync</code>` : ""}</span></p>`;
}
