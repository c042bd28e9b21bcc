"""``agent-workflow archive``: what is moved, what stays, and what the exit code says."""

from pathlib import Path
from typing import TYPE_CHECKING

from invented_runs import ARCHIVED, DONE, FAILED, RUNNING

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


def test_a_sealed_run_is_moved_and_the_rest_told(root: Path, cli: "CommandLine") -> None:
    """The four invented runs: one is sealed, one runs, one was never sealed, one is in the archive."""
    done = cli.run("archive", "--older-than", "0d", "--state-root", str(root))

    assert 0 == done.code, done.err
    assert {ARCHIVED, DONE} == {path.name for path in (root / "archive").iterdir()}
    assert (root / "archive" / DONE / "archive-manifest.json").is_file()
    assert done.lines[0].startswith("moved 1 run, ")
    assert f"  {FAILED}: unsealed, it has ended and is not sealed" in done.lines
    assert f"  {RUNNING}: running, status.json says running" in done.lines


def test_the_index_follows_at_the_next_sync(indexed: Path, cli: "CommandLine") -> None:
    """The run is archived evidence then, and still sealed."""
    cli.run("archive", DONE, "--state-root", str(indexed))

    assert 0 == cli.run("index", "sync", "--strict", "--state-root", str(indexed)).code
    asked = cli.run("index", "query", "runs", "--session", DONE, "--json", "--state-root", str(indexed))
    (row,) = asked.document["rows"]
    assert ("archive", 1) == (row["storage_class"], row["evidence_complete"])


def test_without_an_id_only_old_runs_are_moved(root: Path, cli: "CommandLine") -> None:
    """A run that is named is moved whatever its age; the default age is said in the help."""
    young = cli.run("archive", "--older-than", "9999w", "--dry-run", "--json", "--state-root", str(root))

    assert [] == young.document["moved"]
    assert {DONE: "recent", RUNNING: "running", FAILED: "unsealed"} == {
        run["session_id"]: run["reason"] for run in young.document["kept"]
    }
    assert "30d where no ID is given" in " ".join(cli.run("archive", "--help").out.split())


def test_a_dry_run_moves_nothing(root: Path, cli: "CommandLine") -> None:
    """It says the same, in the conditional."""
    told = cli.run("archive", DONE, "--dry-run", "--state-root", str(root))

    assert 0 == told.code
    assert told.lines[0].startswith("would move 1 run")
    assert (root / "runs" / DONE).is_dir()


def test_a_named_run_that_cannot_be_moved_is_a_failure(root: Path, cli: "CommandLine") -> None:
    """Unknown, running and archived ones: exit 1, each with its reason."""
    told = cli.run("archive", RUNNING, "nobody", ARCHIVED, "--json", "--state-root", str(root))

    assert 1 == told.code
    reasons = {run["session_id"]: run["reason"] for run in told.document["kept"]}
    assert {RUNNING: "running", "nobody": "unknown", ARCHIVED: "exists"} == reasons


def test_a_wrong_age_is_a_wrong_call(root: Path, cli: "CommandLine") -> None:
    """Exit 2, and nothing is moved."""
    told = cli.run("archive", "--older-than", "yesterday", "--state-root", str(root))

    assert 2 == told.code
    assert "is no age" in told.err
    assert (root / "runs" / DONE).is_dir()
