"""Small charts as inline SVG: no script, colours by class, every figure in a title and in a table beside it."""

from collections.abc import Mapping, Sequence
from html import escape

from agent_workflow.cli._terminal_text import printable
from agent_workflow.cli.report.facts import Bucket

_WIDTH = 720
_HEIGHT = 170
_LEFT = 46
_TOP = 12
_BOTTOM = 30
_LABELS = 8


def text(value: object) -> str:
    """Return any text of evidence as HTML text: escaped, and with nothing in it that reorders or hides."""
    return escape(printable(str(value)), quote=True)


def stacked_bars(buckets: Sequence[Bucket], series: Sequence[str], title: str) -> str:
    """Draw a bar a bucket with a part a series, in the order of the series.

    Args:
        buckets: in order.
        series: names of counts, which are class names too.
        title: what the chart shows, for those who do not see it.
    """
    most = max((sum(bucket.counts.get(name, 0) for name in series) for bucket in buckets), default=0)
    top = max(_nice(most), 2.0)  # half a run would stand at the axis
    slot = (_WIDTH - _LEFT) / max(len(buckets), 1)
    parts = []
    for number, bucket in enumerate(buckets):
        below = 0.0
        for name in series:
            count = bucket.counts.get(name, 0)
            if count <= 0:
                continue
            x, width = _LEFT + number * slot + slot * 0.12, slot * 0.76
            parts.append(_bar(x, below, width, count, top, name, f"{bucket.label}: {_figure(count)} {name}"))
            below += count
    return _frame(parts, buckets, slot, top, title)


def grouped_bars(buckets: Sequence[Bucket], series: Sequence[str], title: str) -> str:
    """Draw the series of a bucket side by side: what must not be added up is not stacked."""
    top = _nice(max((bucket.counts.get(name, 0) for bucket in buckets for name in series), default=0))
    slot = (_WIDTH - _LEFT) / max(len(buckets), 1)
    width = slot * 0.76 / len(series)
    parts = []
    for number, bucket in enumerate(buckets):
        for place, name in enumerate(series):
            amount = bucket.counts.get(name, 0)
            if amount > 0:
                x = _LEFT + number * slot + slot * 0.12 + place * width
                parts.append(_bar(x, 0, width, amount, top, name, f"{bucket.label}: {_figure(amount)} {name}"))
    return _frame(parts, buckets, slot, top, title)


def share_bars(shares: Sequence[tuple[str, int]], kind: str) -> str:
    """List counts, each with a bar whose length is its share of the largest."""
    most = max((count for _, count in shares), default=0)
    rows = "".join(
        f'<tr><td>{text(label)}</td><td class="n">{count}</td><td class="bar">{_share(count, most)}</td></tr>'
        for label, count in shares
    )
    head = f'<tr><th>{text(kind)}</th><th class="n">count</th><th></th></tr>'
    return f'<table class="shares"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def legend(counts: Mapping[str, str]) -> str:
    """Explain the colours of a chart."""
    keys = "".join(f'<li><i class="{text(name)}"></i>{text(label)}</li>' for name, label in counts.items())
    return f'<ul class="legend">{keys}</ul>'


def _share(count: int, most: int) -> str:
    view = 'class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"'
    return f'<svg {view}><rect class="failed" width="{100 * count / max(most, 1):.1f}" height="10"/></svg>'


def _bar(x: float, below: float, width: float, count: float, top: float, name: str, title: str) -> str:
    scale = (_HEIGHT - _TOP - _BOTTOM) / top
    height = max(count * scale, 1)
    y = _HEIGHT - _BOTTOM - below * scale - height
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{text(name)}" {shape}><title>{text(title)}</title></rect>'


def _frame(parts: Sequence[str], buckets: Sequence[Bucket], slot: float, top: float, title: str) -> str:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text class="y" x="{_LEFT - 6}" y="{y + 4:.1f}">{_figure(top * share)}</text>')
    every = -(-len(buckets) // _LABELS) or 1
    for number, bucket in enumerate(buckets):
        if number % every == 0:
            x = _LEFT + (number + 0.5) * slot
            label = bucket.label[5:] if len(bucket.label) == len("2026-01-01") else bucket.label
            lines.append(f'<text class="x" x="{x:.1f}" y="{_HEIGHT - 10}">{text(label)}</text>')
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{text(title)}"'
    return f'<svg class="chart" {view}>{"".join(lines)}{"".join(parts)}</svg>'


def _nice(most: float) -> float:
    """Return the next round figure whose half is one, too."""
    if most <= 0:
        return 1.0
    step = 10.0
    while step < most:
        step *= 10
    while step / 10 >= most:
        step /= 10
    parts = (0.1, 0.12, 0.16, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0) if step >= 100 else (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    return next(step * part for part in parts if step * part >= most)


def _figure(value: float) -> str:
    if value == int(value):
        return str(int(value))
    return f"{value:.2f}".rstrip("0") if value >= 1 else f"{value:.2g}"
