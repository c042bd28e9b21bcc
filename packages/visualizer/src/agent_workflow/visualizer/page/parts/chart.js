/** One chart: a few series over time, drawn by uPlot in the colours of the theme. The figures are in words beside it. */
import uPlot from "../vendor/uplot.js";
import { clock, day } from "../core/format.js";
import { html, useEffect, useRef } from "../core/html.js";
import { useWidth } from "../core/layout.js";
import { useStore } from "../core/store.js";
import { theme } from "../core/theme.js";

/** Where a number is not counted in tens, the lines of its scale are not either: bytes, and seconds. */
export const BINARY = Array.from({ length: 50 }, (_, power) => 2 ** power);
export const CLOCK = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000];

/** The day is said where it begins. */
function timeOfDay(tick, before) {
  const [at, last] = [tick * 1000, before == null ? null : before * 1000];
  const text = clock(at).slice(0, 5);
  return last == null || day(last) !== day(at) ? `${text}\n${day(at)}` : text;
}

/**
 * @param {{title: string, summary: string, x: number[], series: {label: string, values: (number|null)[], tone: string, dash?: number[]}[], format: (value: number) => string, bars?: boolean, height?: number, steps?: number[]}} props
 *   `x` in seconds; `tone` a CSS custom property
 */
export function Chart({ title, summary, x, series, format, bars = false, height = 150, steps }) {
  const place = useRef(null);
  const width = useWidth(place, 300);
  const choice = useStore(theme);
  useEffect(() => {
    if (!place.current || x.length === 0 || width < 60) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--ink-soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 }, font: "11px system-ui" };
    const margin = bars ? 86_400 : 60; // from the data itself: around one point alone, uPlot would show a thousand days
    const chart = new uPlot(
      {
        width,
        height,
        cursor: { drag: { x: false, y: false }, points: { size: 5 } },
        legend: { live: true },
        scales: { x: { time: true, range: bars || x.length < 2 ? () => [x[0] - margin, x[x.length - 1] + margin] : undefined }, y: { range: (_plot, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
        axes: [
          { ...axis, space: 70, values: (_plot, ticks) => (bars ? ticks.map((tick) => day(tick * 1000)) : ticks.map((tick, index) => timeOfDay(tick, ticks[index - 1]))) },
          { ...axis, size: 62, space: 22, incrs: steps, values: (_plot, ticks) => ticks.map((tick) => format(tick)) },
        ],
        series: [
          { label: "", value: (_plot, at) => (at == null ? "" : bars ? new Date(at * 1000).toISOString().slice(0, 10) : clock(at * 1000)) },
          ...series.map((one, index) => ({
            label: one.label,
            stroke: colour(one.tone),
            width: 1.5,
            dash: one.dash,
            fill: bars ? colour(one.tone) : undefined,
            paths: bars ? uPlot.paths.bars({ size: [0.8 / series.length, 24, 3], align: series.length === 1 ? 0 : index === 0 ? -1 : 1 }) : undefined,
            points: { show: !bars && x.length < 40, size: 4 },
            value: (_plot, value, _series, index) => (index == null ? "" : value == null ? "–" : format(value)),
          })),
        ],
      },
      [x, ...series.map((one) => one.values)],
      place.current,
    );
    return () => chart.destroy();
  }, [x, series, width, choice, bars, height]);
  return html`<figure class="chart" role="group" aria-label=${`${title}: ${summary}`}>
    <figcaption><strong>${title}</strong> <span class="soft small">${summary}</span></figcaption>
    <div ref=${place} class="chart-place" aria-hidden="true"></div>
  </figure>`;
}
