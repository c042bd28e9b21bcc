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


def interrupt(root: Path, trace: Path) -> Path:
    """Leave what a prune leaves that was killed with a session staged; return the session's directory."""
    session = trace.parent / "sessions" / "ended1"
    status = session.stat()
    session.rename(session.with_name(".pruned-4c4c4c4c4c4c-ended1"))
    receipts = root / "prune-receipts"
    receipts.mkdir(mode=0o700)
    common = {"schema": "agent-workflow/prune-receipt/v1", "recorded_at": LONG_AGO, "plan_sha256": "4c" * 32}
    intent = {
        "event": "intent",
        "subject": "trace-session",
        "path": str(session),
        "staged_path": str(session.with_name(".pruned-4c4c4c4c4c4c-ended1")),
        "device": status.st_dev,
        "inode": status.st_ino,
        "database": str(trace),
        "rows": {"sessions": 1},
        "file_count": 0,
    }
    lines = [common | {"event": "plan"}, common | intent]
    (receipts / "20260101-4c4c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return session


def test_a_prune_that_was_killed_is_finished_by_the_next(root: Path, cli: "CommandLine", trace: Path) -> None:
    """The staged session and its receipt are taken up; the rows decide that it comes back."""
    session = interrupt(root, trace)

    assert 1 == len(ask(cli, root, "--older-than", "9999w")["unfinished_receipts"])
    report = ask(cli, root, "--older-than", "9999w", "--yes")

    assert [("kept", True)] == [(o["outcome"], o["resumed"]) for o in report["outcomes"]]
    assert (session / "events.jsonl").is_file()
    assert "end" == receipt_of(root)[-1]["event"]


def test_what_was_interrupted_is_told_and_finished_by_name(root: Path, cli: "CommandLine", trace: Path) -> None:
    """By doctor and sync, with the command that finishes it and deletes nothing else; then nobody speaks of it."""
    at = ("--state-root", str(root))
    assert "prune interrupted" not in cli.run("index", "sync", *at).err
    session = interrupt(root, trace)

    told = cli.run("index", "sync", *at)
    looked = cli.run("doctor", *at, COLUMNS="200")
    finished = cli.run("prune", "--finish", *at)
    again = cli.run("prune", "--finish", "--json", *at)

    command = f"agent-workflow --state-root {root} prune --finish"
    assert (0, True) == (told.code, f"1 prune interrupted: what was announced may be half gone; {command}" in told.err)
    assert any("1 prune interrupted" in line for line in looked.lines)
    assert command in " ".join(looked.out.split())
    assert (0, True) == (finished.code, (session / "events.jsonl").is_file())
    assert any(line.startswith("  kept ") for line in finished.lines)
    assert (0, []) == (again.code, again.document["outcomes"])
    assert {DONE, RUNNING, FAILED} == {path.name for path in (root / "runs").iterdir()}
    assert "prune interrupted" not in cli.run("index", "sync", *at).err
    assert "prune interrupted" not in cli.run("doctor", *at).out


def test_what_cannot_be_finished_yet_is_no_success(root: Path, cli: "CommandLine", trace: Path) -> None:
    """A trace on a disk that is away: the receipt waits, and says why."""
    interrupt(root, trace)
    trace.parent.rename(trace.parent.with_name("away"))

    first, second = (cli.run("prune", "--finish", "--state-root", str(root)) for _ in range(2))

    assert (1, 1) == (first.code, second.code)
    assert f"{trace.parent} is not there" in first.out
    assert "1 interrupted prune cannot be finished yet" in second.err


def test_a_database_that_is_no_trace_is_refused(root: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """Exit 3, as everywhere where it is somebody else's."""
    (tmp_path / "other.db").write_bytes(b"not a database, and longer than a header" * 10)

    told = cli.run(
        "prune", "--older-than", "0d", "--traces", "--db", str(tmp_path / "other.db"), "--state-root", str(root)
    )

    assert 3 == told.code


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--older-than", "1d", "--keep-bytes", "1G"),
        ("--older-than", "soon"),
        ("--keep-bytes", "much"),
        ("--older-than", "1d", "--dry-run", "--yes"),
        ("--older-than", "1d", "--db", "x.db"),
        ("--finish", "--yes"),
        ("--finish", "--older-than", "1d"),
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
