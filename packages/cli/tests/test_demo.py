"""``agent-workflow demo``."""

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_workflow.cli._demo_project import GOOD, HUNG, UNTRUE

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytestmark = pytest.mark.slow


@pytest.fixture
def told(cli: "CommandLine", tmp_path: Path) -> Any:
    """The demo's document."""
    answer = cli.run("--json", "demo", "--dir", str(tmp_path / "demo"))
    assert answer.code == 0, answer.err + json.dumps(answer.document, indent=1)
    return answer.document


def _rows(told: Any, command: str) -> list[dict[str, Any]]:
    step = next(step for step in told["steps"] if step["command"] == f"agent-workflow {command}")
    rows: list[dict[str, Any]] = step["answer"]["rows"]
    return rows


def test_three_runs_one_failed_on_a_gate_one_lost(told: Any) -> None:
    """The index shows how each run ended and why, and every one of them is sealed."""
    runs = {row["session_id"]: row for row in _rows(told, "index query runs")}

    outcomes = {run: (row["executor_result"], row["failure_category"]) for run, row in runs.items()}
    assert {GOOD: ("completed", None), UNTRUE: ("failed", "gate_failed"), HUNG: ("lost", "lost")} == outcomes
    assert [1, 1, 1] == [row["evidence_complete"] for row in runs.values()]


def test_costs_and_durations(told: Any) -> None:
    """Each finished run tells its cost and its time, in total and for each agent."""
    metrics = {(row["session_id"], row["stage"]): row for row in _rows(told, "index query metrics")}

    for run in (GOOD, UNTRUE):
        total = metrics[run, "total"]
        assert total["provider_billed_cost"] > 0
        assert total["elapsed_seconds"] > 0
        parts = [metrics[run, f"child:{agent}"]["provider_billed_cost"] for agent in ("planner", "builder")]
        assert total["provider_billed_cost"] == pytest.approx(sum(parts))


def test_one_incident_and_its_remediation(told: Any) -> None:
    """The killed run is one incident, opened and resolved, and what was done about it is told."""
    incidents = _rows(told, "index query incidents")
    remediations = _rows(told, "index query remediations")

    assert {("process_missing", HUNG)} == {(row["category"], row["session_id"]) for row in incidents}
    assert {"open", "resolved"} == {row["state"] for row in incidents}
    assert 1 == len({row["incident_id"] for row in incidents})
    assert {HUNG} == {row["session_id"] for row in remediations}


def test_the_demo_tells_its_story(tmp_path: Path, cli: "CommandLine") -> None:
    """The demo ends well: a forged digit is named by file, and is mended at the end. What PATH lacks is shown."""
    answer = cli.run("demo", "--dir", str(tmp_path / "demo"), PATH="/usr/bin:/bin")

    assert (0, "") == (answer.code, answer.err)
    assert f"  export PATH={Path(sys.executable).parent}:$PATH" in answer.lines
    assert "$ agent-workflow supervisor once --no-sync-index" in answer.lines
    assert "- farewell.py: is claimed but was not changed" in answer.lines
    assert any("execution-metrics.json: differs from what final-receipt.json seals" in line for line in answer.lines)
    assert "sources      all hashed, none differs" in answer.lines


def test_what_the_demo_leaves_can_be_asked(told: Any, cli: "CommandLine") -> None:
    """The commands that are shown at the end work on what it left."""
    status = cli.run("index", "status", "--json", "--state-root", told["state_root"]).document

    assert ("current", 3, 0) == (status["freshness"], status["run_count"], status["error_count"])


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
