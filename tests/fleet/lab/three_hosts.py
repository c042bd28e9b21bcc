"""Three state roots that stand for three hosts, with rows of every kind, and what their indexes answer."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from asked_host import BETA, write_host, write_run
from sample_records import (
    health,
    incident,
    lifecycle,
    metrics,
    permission,
    process_result,
    remediation,
    session_status,
    stage,
)
from sample_state import StateRoot, write_rich_run
from traced_runs import imported_run, seal

from agent_workflow.index_store import KINDS, MAXIMUM_LIMIT, query, rebuild
from agent_workflow.index_store.export import FieldClass, Policy, export

EVERYTHING = Policy(frozenset(FieldClass) - {FieldClass.INDEX})
"""The policy under which every cell that can leave does."""

HOSTS = ("0123", "build-7", "laptop.ann")
"""The first looks like a number, and must not become one."""

MONEY = (0.1, 0.2, 1.0000000001, 123.456)


def write_three_hosts(folder: Path) -> dict[str, Path]:
    """Make and index the state roots, by the names of their hosts."""
    roots = {host: folder / f"state-{number}" for number, host in enumerate(HOSTS)}
    write_host(roots["0123"])
    _write_rich_host(roots["build-7"])
    _write_priced_host(roots["laptop.ann"])
    return roots


def _write_rich_host(path: Path) -> None:
    """Runs with rows in every table, and text that is awkward to write down."""
    state = StateRoot(path)
    for name in ("one", "two"):
        write_rich_run(state, name)
    odd = state.run("odd", created_at="2026-02-28T23:59:59.999Z", status="failed", failure_category="timeout")
    odd.journal(
        "incidents.jsonl",
        [
            incident(
                7, summary='quote " comma , newline \n semicolon ; ünï𝄞', recorded_at="2026-02-28T23:59:59.999999Z"
            ),
            incident(7, state="resolved", category="crashed", recorded_at="2026-03-01T00:30:00+01:00"),
        ],
    )
    odd.journal("remediations.jsonl", [remediation(7, incident_id=f"{7:024x}", recorded_at="2026-03-01T00:40:00Z")])
    odd.journal("permission-events.jsonl", [permission(3, target="it's\t/srv/x"), permission(4, state="cleared")])
    odd.journal("strange.jsonl", [{"type": "made-up"}, {"kind": "other", "timestamp": "2026-03-02T01:02:03.5"}])
    rebuild(path)


def _write_priced_host(path: Path) -> None:
    """Runs that cost something, in one currency, in two, and in none that is named; one that took another's place."""
    state = StateRoot(path)
    for number, cost in enumerate(MONEY):
        name = f"priced-{number}"
        run = write_run(state, name, BETA, executor="codex", model="large", pack="night")
        currency = (None, "USD", "USD", "EUR")[number]
        priced = stage("total", provider_billed_cost=cost, local_estimated_cost=cost / 3, currency=currency)
        named = stage(
            "verification", provider_billed_cost=cost, currency="USD", input_tokens=2**40 + number, elapsed_seconds=0.1
        )
        run.document("execution-metrics.json", metrics(name, priced, named))
        run.document("process-result.json", process_result(recorded_at=f"2026-03-0{number + 1}T12:00:00Z"))
        judged = {"executor_result": "completed", "acceptance_eligible": number != 1}
        run.document("status.json", session_status(name, status="completed", created_at=BETA, **judged))
        run.journal("events.jsonl", [lifecycle(1, timestamp=f"2026-03-0{number + 1}T00:00:00Z")])
        run.journal("run-health-samples.jsonl", [health(recorded_at=f"2026-03-0{number + 1}T23:59:59.5Z")])
    for name, cost, earlier in (("imported", 2.5, None), ("imported-2", 7.5, "imported")):
        seal(imported_run(state, name, cost=cost, retry_of=earlier))
    rebuild(path)


def export_all(roots: dict[str, Path], dataset: Path, policy: Policy = EVERYTHING) -> None:
    """Export every host to one dataset."""
    for host, root in roots.items():
        export(root, str(dataset), host=host, policy=policy)


def sum_of_indexes(roots: dict[str, Path]) -> dict[str, list[dict[str, Any]]]:
    """Return what the indexes answer to each kind of question, the rows of all of them with their host."""
    return {
        kind: [
            {"host": host, **row} for host, root in roots.items() for row in query(root, kind, limit=MAXIMUM_LIMIT).rows
        ]
        for kind in KINDS
    }


def moment(value: object) -> datetime | None:
    """Return the moment of a cell that holds one: as text of any notation, or as an engine gives it."""
    if isinstance(value, str):
        text = value.replace(" ", "T").replace("Z", "+00:00")
        value = datetime.fromisoformat(text)
    if value is None:
        return None
    assert isinstance(value, datetime), value
    return value if value.tzinfo else value.replace(tzinfo=UTC)
