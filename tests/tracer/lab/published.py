"""Published runs as tests look at them: their documents, and the index's word on them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_workflow.index_store import query, sync, verify


def document(run: Path, name: str) -> dict[str, Any]:
    """Read a document of a run."""
    found: dict[str, Any] = json.loads((run / name).read_bytes())
    return found


def journal(run: Path) -> list[dict[str, Any]]:
    """Read the lifecycle events of a run; their numbers follow each other."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_bytes().split(b"\n")[:-1]]
    assert list(range(1, len(events) + 1)) == [event["sequence"] for event in events]
    return events


def moves(run: Path, dimension: str) -> list[str]:
    """Return the states that a dimension of a run went through."""
    return [event["new"] for event in journal(run) if event["dimension"] == dimension]


def stages(run: Path) -> dict[str, dict[str, Any]]:
    """Return the metrics of a run by their stage."""
    return {stage["stage"]: stage for stage in document(run, "execution-metrics.json")["stages"]}


def indexed(state_root: Path) -> dict[str, Mapping[str, Any]]:
    """Bring the index up to date; every record keeps its contract. Return its runs by their ids."""
    report = sync(state_root)
    assert ((), ()) == (report.errors, report.notices)
    return {str(row["session_id"]): row for row in query(state_root, "runs").rows}


def verified(state_root: Path) -> dict[str, Mapping[str, Any]]:
    """Return the runs of a state root, all of which are sealed, and whose seals hold."""
    rows = indexed(state_root)
    report = verify(state_root, full=True)
    assert report.valid, report
    assert {1} == {row["evidence_complete"] for row in rows.values()}
    return rows


def check_every_seal(state_root: Path) -> None:
    """Whatever a test has recorded: each record keeps its contract, and each run that has a receipt is sealed well."""
    if not (state_root / "runs").is_dir():
        return
    rows = indexed(state_root)
    assert verify(state_root, full=True).valid
    for name, row in rows.items():
        if row["storage_class"] == "active":
            has_receipt = (state_root / "runs" / name / "final-receipt.json").exists()
            assert has_receipt == bool(row["evidence_complete"]), name
