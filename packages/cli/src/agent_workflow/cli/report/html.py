"""The report as one HTML file: no script, nothing fetched, everything of evidence escaped."""

from collections.abc import Iterable
from importlib.resources import files

from agent_workflow.cli._cells import minute
from agent_workflow.cli.report import words
from agent_workflow.cli.report.charts import grouped_bars, legend, share_bars, stacked_bars, text
from agent_workflow.cli.report.facts import STATUSES, ReportFacts

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_report(facts: ReportFacts) -> str:
    """Write the whole document."""
    style = (files(__package__) / "style.css").read_text(encoding="utf-8")
    title = f"Agent runs on {text(facts.host)} since {text(minute(facts.since_at))}"
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(_body(facts, title)) + "\n</body>\n</html>\n"


def _body(facts: ReportFacts, title: str) -> Iterable[str]:
    yield f"<header><h1>{title}</h1>"
    yield f'<p class="dim">{text(facts.since)}, up to {text(minute(facts.made_at))}</p></header>'
    yield f'<p class="freshness {text(facts.freshness)}">{text(words.freshness_words(facts))}</p>'
    if facts.freshness != "missing":  # without an index nothing is known, which is not nothing
        yield from _answers(facts)
    yield f"<footer>Made {text(facts.made_at)} from {text(facts.state_root)} by agent-workflow report.</footer>"


def _answers(facts: ReportFacts) -> Iterable[str]:
    figures = "".join(
        f"<li><b>{text(figure)}</b><span>{text(label)}</span></li>" for figure, label in words.tiles(facts)
    )
    yield f'<ul class="tiles">{figures}</ul>'
    waiting = words.listing("Waiting for permission", facts.permissions, facts.permission_count)
    yield from _section(waiting, words.permissions_table(facts.permissions), "Nothing waits.")
    open_now = words.listing("Open incidents", facts.incidents, facts.incident_count)
    yield from _section(open_now, words.incidents_table(facts.incidents), "No incident is open.")
    yield from _runs(facts)
    yield from _failures(facts)
    yield from _spend(facts)
    yield from _section("Agents", words.agents_table(facts.agents), "No run of this period is known.")
    yield from _incident_counts(facts)
    in_error = words.listing("Evidence in error", facts.errors, facts.error_count)
    yield from _section(in_error, words.errors_table(facts.errors), "No run is in error.")


def _runs(facts: ReportFacts) -> Iterable[str]:
    yield "<h2>Runs</h2>"
    statuses = facts.statuses or {}
    if not statuses:
        yield '<p class="none">No run of this period is known.</p>'
        return
    yield stacked_bars(facts.runs_over_time, STATUSES, f"Runs by {facts.bucket} and status")
    yield legend({name: f"{statuses[name]} {name}" for name in STATUSES if statuses.get(name)})


def _failures(facts: ReportFacts) -> Iterable[str]:
    yield "<h2>Failures</h2>"
    if not facts.failures:
        yield '<p class="none">No run of this period failed.</p>'
        return
    yield share_bars(facts.causes, "cause")
    if len(facts.failures) < facts.failure_count:
        yield f"<h3>The newest {len(facts.failures)} of {facts.failure_count}</h3>"
    yield _table(words.failures_table(facts.failures))


def _spend(facts: ReportFacts) -> Iterable[str]:
    yield "<h2>Spend</h2>"
    unpriced = words.UNKNOWN if facts.unpriced_runs is None else str(facts.unpriced_runs)
    if not facts.money:
        yield f'<p class="none">No price is known. Runs without a known price: {unpriced}.</p>'
        return
    yield (
        "<p>Billed by providers and estimated here are different facts and are never added up. "
        f"Runs without a known price: {unpriced}; they are not counted as free.</p>"
    )
    for money in facts.money:
        currency = money.currency or "currency not named"
        yield f"<h3>{text(currency)} by {facts.bucket}</h3>"
        yield grouped_bars(money.buckets, ("billed", "estimated"), f"Spend by {facts.bucket}, {currency}")
        yield legend({"billed": "billed", "estimated": "estimated"})
    yield _table(words.money_table(facts.money))


def _incident_counts(facts: ReportFacts) -> Iterable[str]:
    yield "<h2>Incidents of the period</h2>"
    if not facts.incident_counts:
        yield '<p class="none">None was recorded.</p>'
        return
    yield share_bars([(f"{category}, {severity}", n) for category, severity, n in facts.incident_counts], "incident")


def _section(heading: str, table: words.Table, nothing: str) -> Iterable[str]:
    yield f"<h2>{text(heading)}</h2>"
    yield _table(table) if table.rows else f'<p class="none">{text(nothing)}</p>'


def _table(table: words.Table) -> str:
    head = "".join(f"<th{_class(cell)}>{text(cell.text)}</th>" for cell in table.headings)
    rows = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in table.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(cell: words.Cell) -> str:
    if cell.kind == "code":
        return f'<td class="code"><code>{text(cell.text)}</code></td>'
    if cell.kind == "free":  # of any length: it scrolls in a box of its own
        return f'<td class="free"><div>{text(cell.text)}</div></td>'
    return f"<td{_class(cell)}>{text(cell.text)}</td>"


def _class(cell: words.Cell) -> str:
    return f' class="{cell.kind}"' if cell.kind in ("n", "time", "free") else ""
