"""What the supervisor concludes from facts: no disk, no processes."""

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.cli.supervisor import process_table
from agent_workflow.cli.supervisor.channels import Channels, ChannelState
from agent_workflow.cli.supervisor.clock import Anchor, elapsed_since, stamp
from agent_workflow.cli.supervisor.conditions import Condition, Facts, Waiting, Work, judge
from agent_workflow.cli.supervisor.open_tools import open_tool_calls
from agent_workflow.cli.supervisor.process_table import Expected, ProcessTable, Seen
from agent_workflow.cli.supervisor.progress import Beginning, Progress, measure
from agent_workflow.cli.supervisor.samples import HostSample, ProcessSample
from agent_workflow.cli.supervisor.settings import Settings

SETTINGS = Settings()
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUNNER = ProcessSample(10, "same", Seen(10, start_ticks=1), open_fd_count=5, descriptor_limit=1024)
AGENT = ProcessSample(11, "same", Seen(11, start_ticks=2), open_fd_count=5, descriptor_limit=1024)
PLENTY = HostSample((0.1, 0.1, 0.1), 2**35, 2**40, 2**41)
SILENT = {"last_semantic_progress_at": stamp(NOW), "executor": {"pid": 11, "alive": True}}
FACTS = Facts(
    runner=RUNNER,
    executor=AGENT,
    host=PLENTY,
    progress=Progress(NOW, 700.0, "output"),
    work=Work(is_known_agent=True, own_share=0.0, below_share=0.0),
    waiting=Waiting(),
    recent=[SILENT] * 3,
    open_already=frozenset(),
)


def categories(**changes: Any) -> list[str]:
    """Judge the facts of a stalled run with some changed."""
    return [condition.category for condition in judge(replace(FACTS, **changes), SETTINGS)]


STALLED = ["process_alive_no_progress"]


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        (STALLED, {}),
        ([], {"progress": Progress(NOW, 599.0, "output")}),
        ([], {"progress": Progress()}),
        ([], {"recent": [SILENT] * 2}),
        ([], {"recent": [{**SILENT, "last_semantic_progress_at": None}, SILENT, SILENT]}),
        ([], {"recent": [{**SILENT, "executor": {"pid": 11, "alive": False}}, SILENT, SILENT]}),
        ([], {"work": Work(open_tools=1, is_known_agent=True)}),
        ([], {"work": Work(new_processes=1)}),
        ([], {"work": Work(below_share=0.5, is_known_agent=True)}),
        ([], {"work": Work(own_share=0.9, is_known_agent=True)}),
        (STALLED, {"work": Work(own_share=0.9, is_known_agent=True), "progress": Progress(NOW, 1801.0, "output")}),
        ([], {"work": Work(own_share=0.9), "progress": Progress(NOW, 90_000.0, "output")}),
        (["permission_wait"], {"waiting": Waiting(prompts=(("terminal", "execute", "rule/v1"),))}),
        (["provider_wait"], {"waiting": Waiting(provider="overloaded")}),
        (["process_missing"], {"runner": replace(RUNNER, identity="gone")}),
        (["process_missing"], {"runner": replace(RUNNER, identity="zombie")}),
        (["process_missing"], {"runner": replace(RUNNER, identity="other")}),
        ([], {"runner": ProcessSample(None, "unknown"), "executor": ProcessSample(None, "unknown")}),
        (["process_missing"], {"runner": ProcessSample(None, "unknown"), "executor": replace(AGENT, identity="gone")}),
        (["output_capture_exhausted"], {"truncated": ("stdout",), "progress": Progress(NOW, 1.0, "output")}),
    ],
)
def test_judgement(expected: list[str], changes: dict[str, Any]) -> None:
    """What waits, works or is unknown is not stalled; what is gone is missing and nothing else."""
    assert expected == categories(**changes)


@pytest.mark.parametrize(
    ("expected", "attempt", "silent", "already"),
    [
        ([], 1, 5.0, frozenset()),
        (["provider_wait"], 1, 61.0, frozenset()),
        (["provider_wait"], 3, 5.0, frozenset()),
        (["provider_wait"], 1, 5.0, frozenset({"provider_wait:overloaded"})),
    ],
)
def test_short_wait_for_the_provider_is_everyday(
    expected: list[str], attempt: int, silent: float, already: frozenset[str]
) -> None:
    """It is told when it is long or repeated, and then lasts until the stream ends it."""
    waiting = Waiting(provider="overloaded", attempt=attempt)
    found = categories(waiting=waiting, progress=Progress(NOW, silent, "output"), open_already=already)
    assert expected == found


def pressure(value: int, *already: str) -> list[Condition]:
    """Judge a host with so much memory left."""
    facts = replace(FACTS, host=replace(PLENTY, available_memory_bytes=value), progress=Progress(NOW, 1.0, "output"))
    return judge(replace(facts, open_already=frozenset(already)), SETTINGS)


def test_shortage_that_moves_around_its_threshold_is_one() -> None:
    """It begins below the threshold and ends only a quarter above it."""
    least = SETTINGS.least_memory_bytes

    assert ([], 1) == (pressure(least), len(pressure(least - 1)))
    assert (1, []) == (
        len(pressure(least, "resource_pressure:memory")),
        pressure(least * 2, "resource_pressure:memory"),
    )


def test_open_files_near_their_limit() -> None:
    """Each process has its own limit."""
    full = replace(AGENT, open_fd_count=1000)
    found = judge(replace(FACTS, executor=full, progress=Progress(NOW, 1.0, "output")), SETTINGS)
    assert [("resource_pressure", ("descriptors:executor",))] == [(item.category, item.identity) for item in found]


def test_identity_holds_while_numbers_change() -> None:
    """The same stall has one identity however long it lasts; another process's is another."""
    first, later = (
        judge(replace(FACTS, progress=Progress(NOW, seconds, "output")), SETTINGS)[0] for seconds in (700.0, 9000.0)
    )
    other = judge(replace(FACTS, executor=replace(AGENT, seen=Seen(11, start_ticks=3))), SETTINGS)[0]
    assert first.identity == later.identity != other.identity
    assert first.summary != later.summary


moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


@given(recorded=moments, wall=moments, before=moments, ran=st.floats(0, 1e7), since=st.floats(0, 1e7))
def test_elapsed_is_never_negative_nor_longer_than_known(
    recorded: datetime, wall: datetime, before: datetime, ran: float, since: float
) -> None:
    """Whatever the wall's clock does after the last cycle, a record of it is as old as the steady clock says."""
    earlier = Anchor(before, ran, "boot")
    elapsed = elapsed_since(recorded, Anchor(wall, ran + since, "boot"), earlier)
    assert elapsed >= 0
    if recorded <= before:
        assert elapsed == pytest.approx(since + (before - recorded).total_seconds(), abs=0.01)
    else:
        assert elapsed <= since + 0.01


def test_growth_is_younger_than_the_sample_before() -> None:
    """A file whose time is far off cannot make progress older than the last look."""
    before = {"recorded_at": stamp(NOW), "output_bytes": 5, "seconds_since_semantic_progress": 900.0}
    channels = Channels({"output": ChannelState(6, (NOW - timedelta(days=9)).timestamp())})
    now = Anchor(NOW + timedelta(seconds=30), 130.0, "boot")
    found = measure(channels, before, now, Anchor(NOW, 100.0, "boot"), Beginning())
    assert (True, 30.0, "output") == (found.grew, found.seconds, found.source)


def test_silence_goes_on_from_the_sample_before() -> None:
    """Without growth the silence is that of the last sample and the time since."""
    before = {
        "recorded_at": stamp(NOW), "output_bytes": 6, "seconds_since_semantic_progress": 900.0,
        "last_semantic_progress_at": stamp(NOW - timedelta(seconds=900)), "last_semantic_progress_source": "output",
    }  # fmt: skip
    channels = Channels({"output": ChannelState(6, NOW.timestamp())})
    now = Anchor(NOW + timedelta(days=400), 130.0, "boot")
    found = measure(channels, before, now, Anchor(NOW, 100.0, "boot"), Beginning())
    assert (False, 930.0, "output") == (found.grew, found.seconds, found.source)


def test_first_silence_is_no_longer_than_its_process() -> None:
    """A clock that was set forward before the first sample cannot make a young process silent for long."""
    now = Anchor(NOW, 100.0, "boot")
    found = measure(Channels(), None, now, None, Beginning(NOW - timedelta(days=400), 12.0))
    assert (None, 12.0) == (found.at, found.seconds)


PI = {
    "start": b'{"type":"tool_execution_start","toolCallId":"a","toolName":"bash"}\n',
    "update": b'{"type":"tool_execution_update","toolCallId":"a"}\n',
    "end": b'{"type":"tool_execution_end","toolCallId":"a"}\n',
    "again": b'{"type":"agent_start"}\n',
}
CODEX = {
    "start": b'{"type":"item.started","item":{"id":"i1","type":"command_execution"}}\n',
    "end": b'{"type":"item.completed","item":{"id":"i1","type":"command_execution"}}\n',
    "said": b'{"type":"item.started","item":{"id":"i2","type":"reasoning"}}\n',
    "failed": b'{"type":"turn.failed"}\n',
}


CLAUDE = {
    "start": b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Task"}]}}\n',
    "inside": b'{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_use","id":"s1"}]}}\n',
    "deeper": b'{"type":"assistant","parent_tool_use_id":"s1","message":{"content":[{"type":"tool_use","id":"s2"}]}}\n',
    "end": b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}\n',
}


@pytest.mark.parametrize(
    ("count", "agent", "data"),
    [
        (3, "claude", CLAUDE["start"] + CLAUDE["inside"] + CLAUDE["deeper"]),
        # A sub-agent that ended without saying how its calls did must not make its silent parent look at work.
        (0, "claude", CLAUDE["start"] + CLAUDE["inside"] + CLAUDE["deeper"] + CLAUDE["end"]),
        (1, "claude", CLAUDE["start"] + CLAUDE["end"] + CLAUDE["start"]),
        (1, "pi", PI["start"]),
        (1, "pi", PI["update"]),
        (0, "pi", PI["start"] + PI["end"]),
        (1, "pi", PI["start"] + PI["end"][:-1]),
        (0, "pi", PI["start"] + PI["again"]),
        (1, "codex", CODEX["start"]),
        (0, "codex", CODEX["start"] + CODEX["end"]),
        (0, "codex", CODEX["said"]),
        (0, "codex", CODEX["start"] + CODEX["failed"]),
        (0, "another", PI["start"]),
        (0, None, PI["start"]),
        (0, "pi", b'not json "tool_execution_start"\n[1]\n\xff\xfe"tool_execution_"\n'),
    ],
)
def test_open_tool_calls(count: int, agent: str | None, data: bytes) -> None:
    """A call is open until its end, a new turn or the end of the conversation."""
    assert count == len(open_tool_calls(agent, data))


@given(st.binary(max_size=300), st.sampled_from(["pi", "claude", "codex"]))
def test_any_bytes_are_read(data: bytes, agent: str) -> None:
    """Nothing that an agent prints can raise."""
    open_tool_calls(agent, data + b'"tool_execution_"\n{"type":"item.' + data + b"\n")


TABLE = ProcessTable([Seen(5, state="S", start_ticks=50, age_seconds=100.0), Seen(6, state="Z", start_ticks=60)])


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("same", Expected(5)),
        ("same", Expected(5, start_ticks=50)),
        ("other", Expected(5, start_ticks=51)),
        ("other", Expected(5, start_marker="linux:another-boot:50")),
        ("same", Expected(5, seconds_since_known=99.0)),
        ("other", Expected(5, seconds_since_known=200.0)),
        ("zombie", Expected(6)),
        ("gone", Expected(2**22 + 7)),
        ("unknown", Expected(None)),
        ("unknown", Expected(0)),
        ("unknown", Expected(-1)),
    ],
)
def test_identity(identity: str, expected: Expected) -> None:
    """A pid, its start and what was known of it tell whether it is still the one."""
    assert identity == TABLE.identify(expected)


def test_without_proc_a_start_is_compared_as_ps_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no /proc, psutil and ps agree on a start; another second is another process."""
    monkeypatch.setattr(process_table, "_has_proc", lambda: False)
    own = process_table.look(os.getpid())
    assert own is not None
    assert own.started is not None
    written, other = (
        f"ps:{time.strftime('%a %b %d %H:%M:%S %Y', time.gmtime(own.started + shift))}" for shift in (0, 60)
    )
    table = ProcessTable([own])

    assert (own.parent, own.start_ticks, own.is_dead) == (os.getppid(), None, False)
    assert "same" == table.identify(Expected(os.getpid(), written))
    assert "other" == table.identify(Expected(os.getpid(), other))
    assert own.is_same_as(own)
    assert not Seen(7).is_same_as(Seen(7))
