"""``agent-workflow supervisor`` as it is typed: exit codes, documents, refusals."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state root with one live run whose runner is this process."""
    root = tmp_path / "live-state"
    run = root / "runs" / "run-one"
    run.mkdir(parents=True)
    for path in (root, root / "runs", run):
        path.chmod(0o700)
    status = {"session_id": "run-one", "status": "running", "pane_pid": os.getpid()}
    (run / "status.json").write_text(json.dumps(status))
    return root


def test_missing_state_root_is_nothing_to_do(cli: "CommandLine", tmp_path: Path) -> None:
    """Exit 0, an empty report, and nothing is made."""
    root = tmp_path / "nowhere"

    ended = cli.run("--state-root", str(root), "supervisor", "once", "--json")

    assert (0, "") == (ended.code, ended.err)
    assert (0, [], []) == (ended.document["live_run_count"], ended.document["health"], ended.document["errors"])
    assert not root.exists()


def test_document_and_table(cli: "CommandLine", state: Path) -> None:
    """The document holds the sample as it stands in the journal; the table shows the run."""
    document = cli.run("--state-root", str(state), "--json", "supervisor", "once", "--no-sync-index").document
    table = cli.run("supervisor", "once", "--no-sync-index", "--state-root", str(state))

    assert "agent-workflow/supervisor-report/v1" == document["schema"]
    assert {"state": "off"} == document["index_sync"]
    samples = [json.loads(line) for line in (state / "runs/run-one/run-health-samples.jsonl").read_bytes().splitlines()]
    assert [samples[0]] == [health["sample"] for health in document["health"]]
    assert 0 == table.code
    assert any(line.startswith("run-one ") and str(os.getpid()) in line for line in table.lines)
    assert not (state / "index").exists()


def test_index_is_synced(cli: "CommandLine", state: Path) -> None:
    """Without --no-sync-index a look ends with a sync."""
    ended = cli.run("--state-root", str(state), "supervisor", "once", "--json")

    assert ("done", 1) == (ended.document["index_sync"]["state"], ended.document["index_sync"]["indexed_count"])
    rows: Any = cli.run("--state-root", str(state), "index", "query", "health", "--json").document["rows"]
    assert ["run-one"] == [row["session_id"] for row in rows]


def test_run_that_cannot_be_looked_at_exits_1(cli: "CommandLine", state: Path) -> None:
    """The others are looked at all the same, and the fault has path and reason."""
    (state / "runs" / "bad").mkdir()
    (state / "runs" / "bad" / "status.json").write_text("{")

    ended = cli.run("--state-root", str(state), "supervisor", "once", "--json", "--no-sync-index")

    assert 1 == ended.code
    fault = ended.document["errors"][0]
    assert ("bad", str(state / "runs/bad/status.json")) == (fault["session_id"], fault["path"])
    assert ["run-one"] == [health["session_id"] for health in ended.document["health"]]


def _by_mode(root: Path) -> None:
    root.chmod(0o777)


def _by_link(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    root.symlink_to(root.with_name("elsewhere"))


@pytest.mark.parametrize("spoil", [_by_mode, _by_link])
def test_unsafe_state_root_is_refused(cli: "CommandLine", state: Path, spoil: Callable[[Path], None]) -> None:
    """Exit 3 for what others may write, and for a link; nothing is written."""
    spoil(state)

    ended = cli.run("--state-root", str(state), "supervisor", "once", "--json")

    assert (3, "unsafe_path") == (ended.code, ended.document["error"]["code"])
    assert not (state / "runs/run-one/run-health-samples.jsonl").exists()


def test_run_has_no_document(cli: "CommandLine", state: Path) -> None:
    """It goes on and on: --json is refused."""
    ended = cli.run("--state-root", str(state), "supervisor", "run", "--json")

    assert (2, "usage_error") == (ended.code, ended.document["error"]["code"])


def test_only_the_sessions_that_are_named(cli: "CommandLine", state: Path) -> None:
    """--session leaves the others alone; a run that is not there is told and exits 1."""
    words = ("--state-root", str(state), "supervisor", "once", "--json", "--no-sync-index")

    other = cli.run(*words, "--session", "another")
    named = cli.run(*words, "--session", "run-one")

    assert ([], ["run-one"]) == tuple([h["session_id"] for h in it.document["health"]] for it in (other, named))
    assert (1, 0) == (other.code, named.code)
    assert "does not exist" == other.document["errors"][0]["reason"]
