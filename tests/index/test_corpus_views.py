"""On genuine evidence every view sums up what the tables hold."""

import pytest

from . import expected_views
from .corpus_reading import alike
from .evidence_files import EvidenceRoot
from .index_reading import Row, rows_of

pytestmark = pytest.mark.corpus


def _rounded(rows: list[Row]) -> list[Row]:
    return [
        {
            name: round(float(value), 9) if name.startswith("avg") and value is not None else value
            for name, value in row.items()
        }
        for row in rows
    ]


def assert_view(root: EvidenceRoot, view: str, justified: list[Row]) -> None:
    """Check that a view has exactly the rows and columns worked out in Python."""
    rows = rows_of(root.database, view)

    assert justified
    assert set(justified[0]) == set(rows[0])
    columns = set(rows[0])
    assert alike(_rounded(justified), columns) == alike(_rounded(rows), columns)


def test_run_overview_counts_what_is_open_and_pending(root: EvidenceRoot) -> None:
    """An incident or permission counts by the latest event of its subject."""
    tables = [
        rows_of(root.database, name) for name in ("runs", "health_samples", "incident_events", "permission_events")
    ]

    assert_view(root, "run_overview", expected_views.run_overview(*tables))


@pytest.mark.parametrize(
    ("view", "table", "names"),
    [
        ("incident_summary", "incident_events", ("category", "severity", "state")),
        ("permission_summary", "permission_events", ("operation", "resource_class", "state")),
    ],
)
def test_summaries_count_events_and_runs(root: EvidenceRoot, view: str, table: str, names: tuple[str, ...]) -> None:
    """Each group has its events, its runs, and when it was first and last seen."""
    assert_view(root, view, expected_views.state_summary(rows_of(root.database, table), *names))


def test_performance_summary_keeps_the_two_kinds_of_money_apart(root: EvidenceRoot) -> None:
    """Averages are those of the samples; billed and estimated costs have their own counts and currencies."""
    tables = [rows_of(root.database, name) for name in ("runs", "execution_metrics")]

    assert_view(root, "performance_summary", expected_views.performance_summary(*tables))


def test_attempt_summary_counts_outcomes_of_current_runs(root: EvidenceRoot) -> None:
    """Each combination of outcomes has the number of its runs and of those that may be accepted."""
    assert_view(root, "attempt_summary", expected_views.attempt_summary(rows_of(root.database, "runs")))
