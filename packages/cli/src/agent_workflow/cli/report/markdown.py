"""The report as Markdown, for a ticket or a wiki; everything of evidence is escaped, so that it stays text."""

from collections.abc import Iterable

from agent_workflow.cli._cells import minute
from agent_workflow.cli._terminal_text import printable
from agent_workflow.cli.report import words
from agent_workflow.cli.report.facts import STATUSES, ReportFacts

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_ESCAPED = _ENTITIES | {character: f"\\{character}" for character in "\\`*_[]|~#!"}


def markdown_report(facts: ReportFacts) -> str:
    """Write the whole document."""
    return "\n".join(_lines(facts)) + "\n"


def text(value: object) -> str:
    """Return any text of evidence so that Markdown shows it as it is: no markup, no HTML, no mention."""
    escaped = "".join(_ESCAPED.get(character, character) for character in printable(str(value)))
    # A scheme would become a link of its own accord.
    return escaped.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")


def _lines(facts: ReportFacts) -> Iterable[str]:
    yield f"# Agent runs on {text(facts.host)} since {text(minute(facts.since_at))}"
    yield ""
    yield f"> {text(words.freshness_words(facts))}"
    yield ""
    if facts.freshness != "missing":  # without an index nothing is known, which is not nothing
        yield from _answers(facts)
        yield ""
    yield f"Made {text(facts.made_at)} from {text(facts.state_root)} by agent-workflow report."


def _answers(facts: ReportFacts) -> Iterable[str]:
    yield from (f"- **{text(figure)}** {text(label)}" for figure, label in words.tiles(facts))
    waiting = words.listing("Waiting for permission", facts.permissions, facts.permission_count)
    yield from _section(waiting, words.permissions_table(facts.permissions), "Nothing waits.")
    open_now = words.listing("Open incidents", facts.incidents, facts.incident_count)
    yield from _section(open_now, words.incidents_table(facts.incidents), "No incident is open.")
    yield from _section("Runs", _runs(facts), "No run of this period is known.")
    yield from _section("Causes of failures", _counts("cause", facts.causes), "No run of this period failed.")
    if facts.failures:
        title = words.listing("Failures", facts.failures, facts.failure_count)
        yield from _section(title, words.failures_table(facts.failures), "")
    yield from _section("Spend", words.money_table(facts.money), "No price is known.")
    unpriced = words.UNKNOWN if facts.unpriced_runs is None else str(facts.unpriced_runs)
    yield ""
    yield f"Billed and estimated are never added up. Runs without a known price: {unpriced}."
    yield from _section("Agents", words.agents_table(facts.agents), "No run of this period is known.")
    counts = [(f"{category}, {severity}", count) for category, severity, count in facts.incident_counts]
    yield from _section("Incidents of the period", _counts("incident", counts), "None was recorded.")
    in_error = words.listing("Evidence in error", facts.errors, facts.error_count)
    yield from _section(in_error, words.errors_table(facts.errors), "No run is in error.")


def _runs(facts: ReportFacts) -> words.Table:
    statuses = facts.statuses or {}
    names = [name for name in STATUSES if statuses.get(name)]
    headings = (words.Cell(facts.bucket), *(words.Cell(name, "n") for name in names))
    rows = [
        (words.Cell(bucket.label), *(words.Cell(f"{bucket.counts.get(name, 0):.0f}", "n") for name in names))
        for bucket in facts.runs_over_time
        if bucket.counts
    ]
    return words.Table(headings, tuple(rows))


def _counts(heading: str, counts: Iterable[tuple[str, int]]) -> words.Table:
    rows = tuple((words.Cell(name), words.Cell(str(count), "n")) for name, count in counts)
    return words.Table((words.Cell(heading), words.Cell("count", "n")), rows)


def _section(heading: str, table: words.Table, nothing: str) -> Iterable[str]:
    yield from ("", f"## {text(heading)}", "")
    if not table.rows:
        yield text(nothing)
        return
    yield _row(cell.text for cell in table.headings)
    yield "|" + "|".join("---:" if cell.kind == "n" else "---" for cell in table.headings) + "|"
    for row in table.rows:
        yield _row(cell.text for cell in row)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(text(cell) for cell in cells) + " |"
