/** Numbers and times as people read them. Unknown is said, never shown as zero. */

/** Milliseconds since the epoch, or null. */
export function moment(text) {
  if (!text) return null;
  const value = Date.parse(text);
  return Number.isNaN(value) ? null : value;
}

/** A length of time: 4 ms, 1.3 s, 2m 05s, 3h 07m, 2d 4h. Rounded before it is split, so never "1m 60s". */
export function duration(ms) {
  if (ms == null || Number.isNaN(ms)) return "";
  const span = Math.max(0, ms);
  if (span < 999.5) return `${Math.round(span)} ms`;
  if (span < 59_950) return `${(span / 1000).toFixed(1)} s`;
  const seconds = Math.round(span / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** How long ago, coarse enough not to flicker. */
export function ago(ms) {
  if (ms == null) return "";
  if (ms < 5_000) return "just now";
  if (ms < 60_000) return `${Math.floor(ms / 5000) * 5}s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)}h ago`;
  return `${Math.floor(ms / 86_400_000)}d ago`;
}

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const dayFormat = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "2-digit" });
const monthDayFormat = new Intl.DateTimeFormat(undefined, { month: "short", day: "2-digit" });
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The clock of the reader's zone, with milliseconds when asked for. */
export function clock(ms, withMilliseconds = false) {
  if (ms == null) return "";
  const text = clockFormat.format(ms);
  return withMilliseconds ? `${text}.${String(Math.floor(ms) % 1000).padStart(3, "0")}` : text;
}

/** The day without its year. */
export function day(ms) {
  return monthDayFormat.format(ms);
}

/** Day and clock. */
export function dateTime(ms) {
  return ms == null ? "" : `${dayFormat.format(ms)} ${clock(ms)}`;
}

/** For a title: the whole moment, in the reader's zone and as it is stored. */
export function exactTime(text) {
  const value = moment(text);
  return value == null ? String(text ?? "") : `${dateTime(value)} ${zone} · ${text}`;
}

/** Money of the trace, which is US dollars; null is unknown. */
export function money(value, currency = "USD") {
  if (value == null) return "unknown";
  const sign = currency === "USD" || !currency ? "$" : `${currency} `;
  if (value === 0) return `${sign}0`;
  if (value < 0.00005) return `<${sign}0.0001`;
  return `${sign}${value.toFixed(value >= 100 ? 2 : 4)}`;
}

/** Six decimals whatever the size: for columns that must add up by eye. */
export function exactMoney(value) {
  return value == null ? "unknown" : `$${value.toFixed(6)}`;
}

/** 24,741 */
export function count(value) {
  return value == null ? "unknown" : Math.round(value).toLocaleString("en-US");
}

/** 24.7k, 1.2M; exact below a thousand. */
export function short(value) {
  if (value == null) return "unknown";
  if (value < 1000) return String(Math.round(value));
  if (value < 999_950) return `${(value / 1000).toFixed(value < 99_950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 99_950_000 ? 1 : 0)}M`;
}

export function bytes(value) {
  if (value == null) return "unknown";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let unit = 0;
  while (size >= 1023.5 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(size < 99.5 ? 1 : 0)} ${units[unit]}`;
}

export function percent(share) {
  if (share == null || Number.isNaN(share)) return "unknown";
  const value = share * 100;
  return value > 0 && value < 1 ? `${value.toFixed(1)}%` : `${Math.round(value)}%`;
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function pad(number) {
  return String(number).padStart(2, "0");
}
