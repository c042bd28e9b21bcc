"""``agent-workflow prune``: the plan first, then exactly that, with a receipt."""

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from invented_runs import ARCHIVED, DONE, FAILED, RUNNING

from agent_workflow.tracer import Tracer

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

LONG_AGO = "2026-01-01T00:00:00.000+00:00"


def ask(cli: "CommandLine", root: Path, *options: str) -> Any:
    """Return the document of a prune."""
    return cli.run("prune", *options, "--json", "--state-root", str(root)).document


def receipt_of(root: Path) -> list[dict[str, Any]]:
    """Return the records of the one receipt."""
    (path,) = (root / "prune-receipts").iterdir()
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace database with one session that has ended, and one that goes on."""
    data = tmp_path / "data"
    for adw_id, status, ended in (("ended1", "success", LONG_AGO), ("going1", "running", None)):
        tracer = Tracer(data / "sssf.db", data, adw_id)
        tracer.row("sessions", adw_name="x", status=status, started_at=LONG_AGO, ended_at=ended)
        tracer.event("log", "note", {"n": 1})
        tracer.reserve.release()
        tracer.close()
    return data / "sssf.db"


def sessions_in(database: Path) -> list[str]:
    """Return the sessions that a database has."""
    connection = sqlite3.connect(database)
    try:
        return [row[0] for row in connection.execute("SELECT adw_id FROM sessions ORDER BY adw_id")]
    finally:
        connection.close()


def test_the_plan_is_shown_and_nothing_deleted(root: Path, cli: "CommandLine") -> None:
    """It names what would go, what stays and why, and how to carry it out."""
    shown = cli.run("prune", "--older-than", "0d", "--state-root", str(root))

    assert 0 == shown.code, shown.err
    assert shown.lines[0].startswith("would delete 1 run, ")
    assert any(line.endswith(f"runs/{DONE}") for line in shown.lines)
    assert "3 stay: 1 running, 2 unsealed" in shown.lines
    assert shown.lines[-1].startswith("to delete this and nothing else, call again with: --plan ")
    assert {DONE, RUNNING, FAILED} == {path.name for path in (root / "runs").iterdir()}
    assert not (root / "prune-receipts").exists()


def test_the_plan_that_was_shown_is_carried_out(root: Path, cli: "CommandLine") -> None:
    """With a receipt; the runs that the plan does not list are untouched, and the index follows."""
    digest = ask(cli, root, "--older-than", "0d")["plan_sha256"]

    done = cli.run("prune", "--older-than", "0d", "--plan", digest[:12], "--state-root", str(root))

    assert 0 == done.code, done.err
    assert done.lines[0].startswith("deleted 1 run: ")
    assert {RUNNING, FAILED} == {path.name for path in (root / "runs").iterdir()}
    assert {digest} == {record["plan_sha256"] for record in receipt_of(root)}
    assert "end" == receipt_of(root)[-1]["event"]
    assert 0 == cli.run("index", "sync", "--strict", "--state-root", str(root)).code


@pytest.mark.parametrize("digest", ["4c4c4c4c4c4c", "", "yes"])
def test_another_plan_is_refused(root: Path, cli: "CommandLine", digest: str) -> None:
    """Nothing is deleted where the digest is not that of the plan now."""
    refused = cli.run("prune", "--older-than", "0d", "--plan", digest, "--json", "--state-root", str(root))

    assert 1 == refused.code
    assert "invalid_plan" == refused.document["error"]["code"]
    assert (root / "runs" / DONE).is_dir()


def test_the_same_question_gives_the_same_digest_until_the_evidence_changes(root: Path, cli: "CommandLine") -> None:
    """A file that comes in changes it, and a plan of before is refused."""
    first = ask(cli, root, "--older-than", "0d")["plan_sha256"]
    again = ask(cli, root, "--older-than", "0d")["plan_sha256"]
    (root / "runs" / DONE / "late.txt").write_text("late\n")

    refused = cli.run("prune", "--older-than", "0d", "--plan", first, "--state-root", str(root))

    assert first == again
    assert 1 == refused.code
    assert (root / "runs" / DONE / "late.txt").is_file()


def test_by_size_everything_may_have_to_go(root: Path, cli: "CommandLine") -> None:
    """Nothing that may not go goes, however little may be left."""
    report = ask(cli, root, "--keep-bytes", "0", "--yes")

    assert [("runs/" + DONE, "deleted")] == [(o["path"], o["outcome"]) for o in report["outcomes"]]
    assert (root / "archive" / ARCHIVED).is_dir()


def test_a_required_review_is_obeyed(root: Path, cli: "CommandLine") -> None:
    """The one sealed run is reviewed; without its receipt it stays."""
    assert 1 == len(ask(cli, root, "--older-than", "0d", "--require-review")["runs"])
    (root / "runs" / DONE / "receipts" / "000001-reviewed.json").unlink()

    plan = ask(cli, root, "--older-than", "0d", "--require-review")

    assert [] == plan["runs"]
    assert "unreviewed" in {run["reason"] for run in plan["kept_runs"]}


def test_trace_sessions_go_with_their_rows(root: Path, cli: "CommandLine", trace: Path) -> None:
    """Under the same plan and receipt; the session that goes on stays."""
    plan = ask(cli, root, "--older-than", "0d", "--traces", "--db", str(trace))
    (choice,) = plan["traces"]
    report = ask(cli, root, "--older-than", "0d", "--traces", "--db", str(trace), "--plan", plan["plan_sha256"])

    assert (["ended1"], ["going1"]) == (
        [session["adw_id"] for session in choice["sessions"]],
        [session["adw_id"] for session in choice["kept"]],
    )
    assert {"run": "deleted", "trace-session": "deleted"} == {o["subject"]: o["outcome"] for o in report["outcomes"]}
    assert ["going1"] == sessions_in(trace)
    assert ["going1"] == [path.name for path in (trace.parent / "sessions").iterdir()]
    intent = next(r for r in receipt_of(root) if r["event"] == "intent" and r["subject"] == "trace-session")
    assert {"events": 1, "sessions": 1} == intent["rows"]


def test_a_prune_that_was_killed_is_finished_by_the_next(root: Path, cli: "CommandLine", trace: Path) -> None:
    """The staged session and its receipt are taken up; the rows decide that it comes back."""
    sessions = trace.parent / "sessions"
    status = (sessions / "ended1").stat()
    (sessions / "ended1").rename(sessions / ".pruned-4c4c4c4c4c4c-ended1")
    receipts = root / "prune-receipts"
    receipts.mkdir(mode=0o700)
    common = {"schema": "agent-workflow/prune-receipt/v1", "recorded_at": LONG_AGO, "plan_sha256": "4c" * 32}
    intent = {
        "event": "intent",
        "subject": "trace-session",
        "path": str(sessions / "ended1"),
        "staged_path": str(sessions / ".pruned-4c4c4c4c4c4c-ended1"),
        "device": status.st_dev,
        "inode": status.st_ino,
        "database": str(trace),
        "rows": {"sessions": 1},
        "file_count": 0,
    }
    lines = [common | {"event": "plan"}, common | intent]
    (receipts / "20260101-4c4c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert 1 == len(ask(cli, root, "--older-than", "9999w")["unfinished_receipts"])
    report = ask(cli, root, "--older-than", "9999w", "--yes")

    assert [("kept", True)] == [(o["outcome"], o["resumed"]) for o in report["outcomes"]]
    assert (sessions / "ended1" / "events.jsonl").is_file()
    assert "end" == receipt_of(root)[-1]["event"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--older-than", "1d", "--keep-bytes", "1G"),
        ("--older-than", "soon"),
        ("--keep-bytes", "much"),
        ("--older-than", "1d", "--dry-run", "--yes"),
        ("--older-than", "1d", "--db", "x.db"),
    ],
)
def test_a_wrong_call_is_refused(root: Path, cli: "CommandLine", options: tuple[str, ...]) -> None:
    """Exit 2, before anything is looked at."""
    refused = cli.run("prune", *options, "--json", "--state-root", str(root))

    assert 2 == refused.code
    assert refused.document["error"]["hint"]


def test_a_missing_trace_is_told(root: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """With its path and the next step; nothing is deleted."""
    missing = tmp_path / "none.db"

    told = cli.run("prune", "--older-than", "0d", "--traces", "--db", str(missing), "--yes", "--state-root", str(root))

    assert 1 == told.code
    assert str(missing) in told.err
    assert (root / "runs" / DONE).is_dir()
