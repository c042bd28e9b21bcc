/**
 * The time axis of a trace. Time runs left to right, but not evenly: idle time between phases folds into a narrow strip,
 * and a phase that lasted a millisecond still gets a block that can be seen and pressed. The same bend applies to every
 * lane, so what is above each other happened at the same time.
 */

const GAP_WIDTH = 26;
const BLOCK_WIDTH = 16;

/**
 * @typedef {{from: number, to: number, x: number, width: number, kind: "busy"|"still"|"gap"}} Stretch
 * @param {{start: number, end: number}[]} spans what was going on: the phases
 * @param {{width: number, from: number, to: number, collapse: boolean, least?: number, gap?: number}} options `least`: pixels of the shortest phase
 */
export function bendAxis(spans, { width, from, to, collapse, least = BLOCK_WIDTH, gap = GAP_WIDTH }) {
  const edges = new Set([from, to]);
  for (const span of spans) edges.add(clamp(span.start, from, to)).add(clamp(span.end, from, to));
  const times = [...edges].sort((a, b) => a - b);
  const pieces = [];
  const starts = [...spans].sort((a, b) => a.start - b.start);
  let reach = -Infinity;
  let next = 0;
  for (let index = 0; index + 1 < times.length; index += 1) {
    const [begin, end] = [times[index], times[index + 1]];
    while (next < starts.length && starts[next].start <= begin) reach = Math.max(reach, starts[next++].end);
    pieces.push({ from: begin, to: end, busy: reach > begin });
  }
  const busyTime = pieces.reduce((sum, piece) => sum + (piece.busy ? piece.to - piece.from : 0), 0);
  const longEnough = Math.max(1000, busyTime * 0.08);
  for (const piece of pieces) {
    const idle = !piece.busy && piece.to - piece.from >= longEnough;
    piece.kind = piece.busy ? "busy" : idle ? "gap" : "still";
  }
  return placed(pieces, width, collapse, { busy: least, gap, still: 0 });
}

function placed(pieces, width, collapse, smallest) {
  const least = (piece) => smallest[piece.kind];
  const fixed = (piece) => piece.kind === "gap" && collapse;
  const leastOfAll = pieces.reduce((sum, piece) => sum + least(piece), 0);
  const total = Math.max(width, leastOfAll);
  // Share the room in proportion to time; what would come out too small gets its least, and the rest is shared again.
  const small = new Set(pieces.filter(fixed));
  let scale = 0;
  for (;;) {
    let room = total;
    let time = 0;
    for (const piece of pieces) {
      if (small.has(piece)) room -= least(piece);
      else time += piece.to - piece.from;
    }
    scale = time > 0 ? Math.max(0, room) / time : 0;
    const tooSmall = pieces.filter((piece) => !small.has(piece) && (piece.to - piece.from) * scale < least(piece));
    if (tooSmall.length === 0) break;
    for (const piece of tooSmall) small.add(piece);
  }
  let x = 0;
  const stretches = pieces.map((piece) => {
    const size = small.has(piece) ? least(piece) : (piece.to - piece.from) * scale;
    const stretch = { ...piece, x, width: size, collapsed: fixed(piece) };
    x += size;
    return stretch;
  });
  return new Axis(stretches, Math.max(x, 1));
}

class Axis {
  constructor(stretches, width) {
    this.stretches = stretches;
    this.width = width;
  }

  /** Where a moment is, in pixels. */
  at(time) {
    const all = this.stretches;
    if (all.length === 0 || time <= all[0].from) return 0;
    let low = 0;
    let high = all.length - 1;
    if (time >= all[high].to) return this.width;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (all[middle].from <= time) low = middle;
      else high = middle - 1;
    }
    const piece = all[low];
    const span = piece.to - piece.from;
    return piece.x + (span > 0 ? ((time - piece.from) / span) * piece.width : 0);
  }

  /** Which moment is at a pixel. */
  timeAt(x) {
    const piece = this.stretches.find((one) => x <= one.x + one.width) ?? this.stretches[this.stretches.length - 1];
    if (!piece) return 0;
    return piece.from + (piece.width > 0 ? (Math.max(0, x - piece.x) / piece.width) * (piece.to - piece.from) : 0);
  }

  get gaps() {
    return this.stretches.filter((piece) => piece.kind === "gap");
  }

  /** Marks of the scale: round offsets from the start, never closer than `apart` pixels. */
  marks(apart = 76) {
    const first = this.stretches[0];
    const last = this.stretches[this.stretches.length - 1];
    if (!first) return [];
    const shown = this.stretches.reduce((sum, piece) => sum + (piece.collapsed ? 0 : piece.to - piece.from), 0);
    const step = roundStep(shown / Math.max(1, this.width / (apart * 1.4)));
    const marks = [{ x: 0, offset: 0 }];
    const most = 400;
    for (let index = 1, found = 0; found < most; index += 1) {
      const offset = index * step;
      if (first.from + offset > last.to) break;
      const piece = this.stretches.find((one) => first.from + offset < one.to);
      if (piece?.collapsed) {
        index = Math.max(index, Math.ceil((piece.to - first.from) / step) - 1);
        continue;
      }
      found += 1;
      const x = this.at(first.from + offset);
      if (x - marks[marks.length - 1].x >= apart && x <= this.width - apart * 0.8) marks.push({ x, offset });
    }
    return marks;
  }
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1.8e6, 3.6e6, 7.2e6, 14.4e6, 21.6e6, 43.2e6, 86.4e6];

function roundStep(least) {
  return STEPS.find((step) => step >= least) ?? Math.ceil(least / 86.4e6) * 86.4e6;
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
