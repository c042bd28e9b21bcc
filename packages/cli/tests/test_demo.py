"""``agent-workflow demo``."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from agent_workflow.cli._demo_runs import ARCHIVED, DONE, FAILED, RUNNING

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


def test_the_demo_tells_its_story(tmp_path: Path, cli: "CommandLine") -> None:
    """The demo ends well: a fault is named by file and line, and is gone at the end."""
    answer = cli.run("demo", "--dir", str(tmp_path / "demo"))

    assert (0, "") == (answer.code, answer.err)
    assert "$ agent-workflow index rebuild" in answer.lines
    assert "    events.jsonl:2: not JSON: expected value at column 1" in answer.lines
    assert f"review       {DONE}: verified" in answer.lines
    assert all(run in answer.out for run in (DONE, RUNNING, FAILED, ARCHIVED))


def test_what_the_demo_leaves_can_be_asked(tmp_path: Path, cli: "CommandLine") -> None:
    """The commands that are shown at the end work on what it left."""
    cli.run("demo", "--dir", str(tmp_path / "demo"))

    status = cli.run("index", "status", "--json", "--state-root", str(tmp_path / "demo" / "state")).document

    assert ("current", 4, 0) == (status["freshness"], status["run_count"], status["error_count"])


def test_the_demo_as_a_document(cli: "CommandLine", tmp_path: Path) -> None:
    """With --json every step comes with its command, exit code and answer, and one new record is what a sync parsed."""
    document = cli.run("--json", "demo", "--dir", str(tmp_path / "demo")).document

    assert document["good"]
    synced = next(step for step in document["steps"] if step["command"] == "agent-workflow index sync")
    (run,) = synced["answer"]["indexed"]
    assert (RUNNING, 1) == (run["session_id"], run["records_parsed"])


def test_the_demo_touches_nothing_of_yours(cli: "CommandLine", tmp_path: Path) -> None:
    """Without --dir it works in a folder of its own, and your state root stays as it is."""
    document = cli.run("demo", "--json", TMPDIR=str(tmp_path)).document

    assert Path(document["state_root"]).is_relative_to(tmp_path)
    assert [] == list(cli.home.iterdir())
    shutil.rmtree(Path(document["state_root"]).parent)


def test_a_folder_that_holds_something_is_refused(cli: "CommandLine", tmp_path: Path) -> None:
    """The demo writes over nothing, and never into a state root that was named for real use."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")

    full = cli.run("demo", "--dir", str(tmp_path / "mine"))
    named = cli.run("--state-root", str(tmp_path / "state"), "demo")

    assert (2, 2) == (full.code, named.code)
    assert not (tmp_path / "state").exists()
