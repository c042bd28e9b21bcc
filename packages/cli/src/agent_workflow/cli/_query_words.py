"""The answer to a question for a person: one line on how fresh it is, then the table."""

from agent_workflow import index_store
from agent_workflow.cli._cells import counted
from agent_workflow.cli._failure import with_state_root
from agent_workflow.cli._output import Palette, terminal_width
from agent_workflow.cli._query_columns import COLUMNS
from agent_workflow.cli._table import state_colour, table, wide_table
from agent_workflow.cli._terminal_text import ellipsis, printable, shorten, width_of


def query_lines(
    report: "index_store.QueryReport",
    filters: "index_store.Filters",
    limit: int,
    named_root: str | None,
    *,
    wide: bool,
) -> list[str]:
    """Lay an answer out for the terminal there is.

    Args:
        report: the answer.
        filters: what it was narrowed to.
        limit: the most rows that were asked for.
        named_root: ``--state-root`` as given, for the commands that are shown.
        wide: every column, unshortened.
    """
    palette = Palette()
    width = terminal_width()
    cut_off = len(report.rows) == limit
    lines = [freshness_line(report.freshness, width, palette, named_root, first=limit if cut_off else None)]
    if not report.rows:
        lines.extend(_nothing(report, filters, width))
    elif wide:
        lines.extend(wide_table(report.rows, report.columns, palette))
    else:
        lines.extend(table(report.rows, COLUMNS[report.kind], width, palette, ellipsis()))
    return lines


def freshness_line(
    freshness: "index_store.Freshness", width: int, palette: Palette, named_root: str | None, first: int | None = None
) -> str:
    """Say in one line how the index compares with its sources; what matters less is left out where it does not fit.

    Args:
        freshness: what was measured.
        width: columns of the terminal.
        palette: colours.
        named_root: ``--state-root`` as given.
        first: number of rows where there may be more.
    """
    line = f"{freshness.word}: {freshness.current_runs} current"
    counts = (
        (freshness.stale_runs, "stale"),
        (freshness.error_runs, "in error"),
        (freshness.historical_runs, "historical"),
    )
    for count, word in counts:
        line = _joined(line, f", {count} {word}" if count else "", width)
    if freshness.stale_runs:
        line = _joined(line, f"; {with_state_root('agent-workflow index sync', named_root)}", width)
    if first is not None:
        line = _joined(line, f"; first {counted(first, 'row')}", width)
    short = shorten(line, width, ellipsis())
    word, rest = short[: len(freshness.word)], short[len(freshness.word) :]
    return palette.paint(word, state_colour(word)) + rest


def _joined(line: str, more: str, width: int) -> str:
    return line + more if width_of(line + more) <= width else line


def _nothing(report: "index_store.QueryReport", filters: "index_store.Filters", width: int) -> list[str]:
    """Say that no row was found, and with which filters."""
    given = [(name, getattr(filters, name)) for name in index_store.FILTERS]
    asked = " ".join(f"--{name} {printable(value)}" for name, value in given if value is not None)
    return [shorten(f"no {report.kind} with {asked}" if asked else f"no {report.kind}", width, ellipsis())]
