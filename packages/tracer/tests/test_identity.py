"""Whether a process is still the one that was recorded, and what is shown of its session."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer import (
    RecordedProcess,
)
from agent_workflow.tracer._identity import judge, recorded_command, same_command
from agent_workflow.tracer._processes import Process


def recorded(**changes: Any) -> RecordedProcess:
    """Make a row of a process."""
    return RecordedProcess.from_row(
        {"id": 1, "adw_id": "a", "kind": "adw", "pid": 42, "command": "adw_plan.py good", **changes}
    )


def living(**changes: Any) -> Process:
    """Make a process that runs."""
    return Process(
        **{
            "pid": 42,
            "parent": 1,
            "is_zombie": False,
            "start_marker": "linux:b:1",
            "started": 1e9,
            "command": "python3 adws/adw_plan.py good",
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("row", "process", "state"),
    [
        ({}, living(), "alive"),
        ({"start_marker": "linux:b:1"}, living(), "alive"),
        ({"start_marker": "linux:b:2"}, living(), "recycled"),
        ({"start_marker": "linux:c:1"}, living(), "recycled"),
        ({"started_at": "2001-09-09T01:46:50+00:00"}, living(), "alive"),
        ({"started_at": "2001-09-09T01:46:30+00:00"}, living(), "recycled"),
        ({"command": "other.py good"}, living(), "recycled"),
        ({"command": None}, living(), "recycled"),
        ({"command": "node cli.js -p", "start_marker": "linux:b:1"}, living(command="pi"), "alive"),
        ({"command": "pi planner"}, living(command="pi"), "alive"),
        ({"command": "node cli.js -p"}, living(command="pi"), "recycled"),
        ({}, living(is_zombie=True), "zombie"),
        ({}, None, "gone"),
        ({"pid": 0}, living(), "invalid"),
        ({"pid": -42}, living(), "invalid"),
        ({"pid": None}, living(), "invalid"),
    ],
)
def test_identity(row: dict[str, Any], process: Process | None, state: str) -> None:
    """A pid counts only with its start time and its command."""
    assert state == judge(recorded(**row), process)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9), min_size=1, max_size=90))
def test_a_recorded_command_is_recognised(words: list[str]) -> None:
    """Whatever a process was started with, also far more than is kept, it is recognised by what was recorded."""
    assert same_command(
        recorded_command(["/usr/bin/" + words[0], *words[1:]]), " ".join(["/usr/bin/" + words[0], *words[1:]])
    )
