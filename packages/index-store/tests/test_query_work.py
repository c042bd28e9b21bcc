"""How much work a question is: it grows as the index does, and no statistics of the tables would make it less."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing

import apsw
import pytest

from agent_workflow.index_store.database import migrate
from agent_workflow.index_store.queries import FILTERS, KINDS, statement

SUMS = ("spend", "outcomes-by-day", "outcomes-by-agent", "open-incidents", "pending-permissions")
PARAMETERS = dict.fromkeys(FILTERS) | {"limit": 100}
RUNS = 150
MOMENT = "2026-03-01T08:00:00Z"

Cell = str | int | float | None


def columns_of(connection: apsw.Connection, table: str) -> list[tuple[str, str]]:
    """Return the names of a table's columns with their types."""
    return [(str(name), str(kind)) for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")]


def fill(connection: apsw.Connection, table: str, rows: Iterable[Mapping[str, Cell]]) -> None:
    """Put rows into a table; what they do not name has some value of its type."""
    columns = columns_of(connection, table)
    some: dict[str, Cell] = {"INTEGER": 1, "REAL": 0.5, "TEXT": MOMENT}
    connection.executemany(
        f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})",
        ([row.get(name, some[kind]) for name, kind in columns] for row in rows),
    )


def records(runs: int) -> Iterator[dict[str, Cell]]:
    """Name records: two of each run, and of one run as many as there are runs, of which half are of one subject."""
    for number in range(runs):
        for sequence in range(runs if number == 0 else 2):
            subject = sequence if sequence % 2 else 0
            yield {
                "session_id": f"run-{number}",
                "relative_path": "journal.jsonl",
                "source_sequence": sequence,
                "incident_id": f"incident-{subject}",
                "target": f"target-{subject}",
                "state": ("open", "pending")[sequence % 4 // 2],
            }


def index_of(runs: int) -> apsw.Connection:
    """Make an index in memory with as many runs, half of them imported and published again."""
    connection = apsw.Connection(":memory:")
    migrate(connection)
    ids = [f"run-{number}" for number in range(runs)]
    imported = "agent-workflow/traced-launch-contract/v2"
    chosen: dict[str, Cell] = {"storage_class": "active", "index_state": "current", "launch_schema": imported}
    formers = {name: ids[number - 1] if number % 2 else None for number, name in enumerate(ids)}
    fill(connection, "runs", ({**chosen, "session_id": name, "retry_of_run_id": formers[name]} for name in ids))
    for table in ("events", "health_samples", "permission_events", "incident_events", "remediation_events"):
        fill(connection, table, records(runs))
    for table in ("process_results", "run_traces", "notices"):
        fill(connection, table, ({"session_id": name} for name in ids))
    fill(connection, "index_errors", ({"error_id": number, "session_id": name} for number, name in enumerate(ids)))
    fill(connection, "evidence_repairs", ({"repair_id": name, "source_session_id": name} for name in ids))
    for stage in ("total", "build"):
        fill(connection, "execution_metrics", ({"session_id": name, "stage": stage} for name in ids))
    fill(connection, "workflows", ({"workflow_id": name, "owner_run_id": name} for name in ids))
    for node in ("one", "two"):
        fill(connection, "workflow_nodes", ({"workflow_id": name, "node_id": node} for name in ids))
    edges = ({"workflow_id": name, "source_node_id": "one", "target_node_id": "two"} for name in ids)
    fill(connection, "workflow_edges", edges)
    return connection


def steps_of(connection: apsw.Connection, sql: str) -> int:
    """Answer a question, and return how many steps of its virtual machine SQLite took."""
    steps: list[int] = []

    def done(event: dict[str, dict[str, int]]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, done)
    found = connection.execute(sql, PARAMETERS, can_cache=False).fetchall()  # a cached one counts on
    connection.trace_v2(0, None)
    assert found, "nothing was looked for"
    return sum(steps)


@pytest.fixture(scope="module")
def small() -> Iterator[apsw.Connection]:
    """Give an index."""
    with closing(index_of(RUNS)) as connection:
        yield connection


@pytest.fixture(scope="module")
def large() -> Iterator[apsw.Connection]:
    """Give one with four times as much in it."""
    with closing(index_of(4 * RUNS)) as connection:
        yield connection


@pytest.mark.parametrize("kind", [*KINDS, *SUMS])
def test_four_times_the_rows_are_little_more_than_four_times_the_work(
    kind: str, small: apsw.Connection, large: apsw.Connection
) -> None:
    """Sorting costs a little more; sixteen times would be a row looked at for each other row."""
    sql = statement(kind)

    ratio = steps_of(large, sql) / steps_of(small, sql)

    assert ratio < 6


@pytest.mark.parametrize("kind", [*KINDS, *SUMS])
def test_statistics_would_save_nothing(kind: str, large: apsw.Connection) -> None:
    """So the writer gathers none: every join goes by a key."""
    sql = statement(kind)
    without = steps_of(large, sql)
    with closing(apsw.Connection(":memory:")) as told:
        with told.backup("main", large, "main") as backup:
            backup.step()
        told.execute("ANALYZE")
        assert told.execute("SELECT count(*) FROM sqlite_stat1").get > len(KINDS)

        with_statistics = steps_of(told, sql)

    assert without <= 1.2 * with_statistics
