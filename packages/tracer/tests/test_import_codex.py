"""Codex's rollouts: running totals, forks that begin with their parent's history, sub-agents, how a turn ended."""

from pathlib import Path
from typing import Any

import pytest
from import_lab import Trace, lines, moment

# Ids of version 7 begin with the milliseconds of their making.
PARENT = "01957000-0000-7000-8000-000000000001"
FORK = "01957000-9999-7000-8000-000000000002"
EARLY = "01957000-0001-7000-8000-00000000000a"
LATER = "01957000-0002-7000-8000-00000000000b"
IN_FORK = "01957000-99aa-7000-8000-00000000000c"


def record(kind: str, at: float, **payload: Any) -> dict[str, Any]:
    """A line of a rollout."""
    return {"timestamp": moment(at), "type": kind, "payload": payload}


def meta(thread: str, at: float, **more: Any) -> dict[str, Any]:
    """The line with which a rollout begins."""
    return record(
        "session_meta", at, id=thread, cwd="/home/dev/repo", cli_version="0.1", model_provider="openai", **more
    )


def turn(identity: str, at: float, text: str) -> list[dict[str, Any]]:
    """The lines with which a turn begins."""
    return [
        record("event_msg", at, type="task_started", turn_id=identity, model_context_window=1000),
        record("turn_context", at, turn_id=identity, model="gpt-5.5"),
        record("event_msg", at, type="user_message", message=text),
    ]


def count(at: float, total: int, last: int | None, **more: Any) -> dict[str, Any]:
    """The line that tells the running total of a thread, and what the newest call added."""
    info: dict[str, Any] = {"total_token_usage": {"input_tokens": total, "total_tokens": total}}
    if last is not None:
        info["last_token_usage"] = {"input_tokens": last, "total_tokens": last}
    return record("event_msg", at, type="token_count", info=info, **more)


def over(at: float, **more: Any) -> dict[str, Any]:
    """The line with which a turn ends."""
    return record("event_msg", at, type="task_complete", **more)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """An empty trace."""
    return Trace(tmp_path / "trace")


def rollout(tmp_path: Path, thread: str, *records: dict[str, Any]) -> Path:
    """Write a rollout."""
    file = tmp_path / f"rollout-{thread}.jsonl"
    file.write_bytes(lines(*records))
    return file


def test_a_total_that_is_told_again_is_no_spend(trace: Trace, tmp_path: Path) -> None:
    """Codex tells the running total whenever it likes, also in a later turn."""
    file = rollout(
        tmp_path,
        PARENT,
        meta(PARENT, 0),
        *turn(EARLY, 1, "One"),
        count(2, 100, 100),
        count(3, 100, 100),
        over(4),
        *turn(LATER, 5, "Two"),
        count(6, 100, 100),
        count(7, 150, 50),
        over(8),
    )

    trace.take(file)

    assert {f"codex-{PARENT}": 150} == trace.tokens()
    assert [100, 50] == [end["tokens"] for end in trace.payloads("agent_end")]
    assert 350 == trace.raw_tokens()


def test_a_call_is_told_from_two_totals(trace: Trace, tmp_path: Path) -> None:
    """Where a call is not told by itself: a total that is told again adds nothing, one that falls began anew."""
    told = [count(2, 100, None), count(3, 170, None), count(3.5, 170, None), count(4, 30, None)]
    file = rollout(tmp_path, PARENT, meta(PARENT, 0), *turn(EARLY, 1, "One"), *told, over(5))

    trace.take(file)

    assert {f"codex-{PARENT}": 200} == trace.tokens()


def test_cached_input_is_inside_input_and_reasoning_inside_output(trace: Trace, tmp_path: Path) -> None:
    """Both would be counted twice by who adds them."""
    usage = {
        "input_tokens": 1000,
        "cached_input_tokens": 900,
        "output_tokens": 70,
        "reasoning_output_tokens": 20,
        "total_tokens": 1070,
    }
    told = record("token_usage_record", 2, response_id="r", usage=usage, thread_token_usage=usage)
    file = rollout(tmp_path, PARENT, meta(PARENT, 0), *turn(EARLY, 1, "One"), told, over(3))

    trace.take(file)

    (end,) = trace.payloads("agent_end")
    wanted = {"input_tokens": 100, "output_tokens": 70, "cache_read_tokens": 900, "reasoning_tokens": 20}
    assert {**wanted, "total_tokens": 1070} == {key: end["usage"][key] for key in (*wanted, "total_tokens")}


@pytest.mark.parametrize("is_first", [True, False], ids=["parent first", "fork first"])
@pytest.mark.parametrize("restamped", [True, False], ids=["new times", "old times"])
def test_a_fork_s_history_counts_for_the_parent(trace: Trace, tmp_path: Path, is_first: bool, restamped: bool) -> None:
    """Its file begins with the parent's lines, whatever times stand on them."""
    history = [*turn(EARLY, 1, "One"), count(2, 100, 100), over(3)]
    parent = rollout(tmp_path, PARENT, meta(PARENT, 0), *history)
    copied = [{**line, "timestamp": moment(50) if restamped else line["timestamp"]} for line in history]
    fork = rollout(
        tmp_path,
        FORK,
        meta(FORK, 50, forked_from_id=PARENT),
        meta(PARENT, 50),
        *copied,
        *turn(IN_FORK, 51, "Two"),
        count(52, 130, 30),
        over(53),
    )

    for file in (parent, fork) if is_first else (fork, parent):
        trace.take(file)

    assert {f"codex-{PARENT}": 100, f"codex-{FORK}": 30} == trace.tokens()
    assert 100 + 130 == trace.raw_tokens()
    assert [("One",), ("Two",)] == trace.rows("SELECT request FROM sessions ORDER BY started_at, adw_id")


def test_a_fork_whose_turns_have_no_ids(trace: Trace, tmp_path: Path) -> None:
    """Older versions: what the totals say is enough."""
    parent = rollout(tmp_path, PARENT, meta(PARENT, 0), count(1, 100, 100), count(2, 250, 150))
    fork = rollout(
        tmp_path,
        FORK,
        meta(FORK, 50, forked_from_id=PARENT),
        meta(PARENT, 50),
        count(50, 100, 100),
        count(50, 250, 150),
        count(51, 290, 40),
    )

    trace.take(parent, fork)

    assert {f"codex-{PARENT}": 250, f"codex-{FORK}": 40} == trace.tokens()


def test_a_fork_of_a_parent_that_is_gone_keeps_its_history(trace: Trace, tmp_path: Path) -> None:
    """What was paid for is not lost with the file."""
    history = [*turn(EARLY, 1, "One"), count(2, 100, 100), over(3)]
    fork = rollout(tmp_path, FORK, meta(FORK, 50, forked_from_id=PARENT), meta(PARENT, 50), *history)

    trace.take(fork)

    assert {f"codex-{FORK}": 100} == trace.tokens()


def test_a_fork_of_a_fork(trace: Trace, tmp_path: Path) -> None:
    """Its file holds the history of both; each call is counted for who made it."""
    last, in_last = "01957000-aaaa-7000-8000-000000000003", "01957000-aabb-7000-8000-00000000000d"
    one = [*turn(EARLY, 1, "One"), count(2, 100, 100), over(3)]
    two = [*turn(IN_FORK, 51, "Two"), count(52, 130, 30), over(53)]
    three = [*turn(in_last, 91, "Three"), count(92, 137, 7), over(93)]
    files = [
        rollout(tmp_path, PARENT, meta(PARENT, 0), *one),
        rollout(tmp_path, FORK, meta(FORK, 50, forked_from_id=PARENT), meta(PARENT, 50), *one, *two),
        rollout(
            tmp_path,
            last,
            meta(last, 90, forked_from_id=FORK),
            meta(FORK, 90, forked_from_id=PARENT),
            meta(PARENT, 90),
            *one,
            *two,
            *three,
        ),
    ]

    trace.take(*reversed(files))

    assert {f"codex-{PARENT}": 100, f"codex-{FORK}": 30, f"codex-{last}": 7} == trace.tokens()


def test_a_spawned_thread_is_a_lane_of_its_parent(trace: Trace, tmp_path: Path) -> None:
    """A sub-agent has a rollout of its own, which names the thread that started it."""
    source = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_nickname": "scout"}}}
    main = rollout(tmp_path, PARENT, meta(PARENT, 0), *turn(EARLY, 1, "One"), count(2, 100, 100), over(9))
    side = rollout(tmp_path, FORK, meta(FORK, 3, source=source), *turn(IN_FORK, 4, "Look"), count(5, 40, 40), over(6))

    trace.take(side, main)

    assert {f"codex-{PARENT}": 140} == trace.tokens()
    assert [("codex", 100), (f"scout {FORK[:12]}", 40)] == trace.rows(
        "SELECT name, tokens FROM events WHERE type = 'agent_end' ORDER BY name"
    )


def called(at: float, call: str, output: Any, **item: Any) -> list[dict[str, Any]]:
    """The lines of a call: asked, perhaps told by an item, answered."""
    asked = record(
        "response_item", at, type="function_call", name="exec_command", call_id=call, arguments='{"cmd":"ls"}'
    )
    told = [record("event_msg", at, type="item_completed", item={"id": call, **item})] if item else []
    return [asked, *told, record("response_item", at + 1, type="function_call_output", call_id=call, output=output)]


def test_a_sub_agent_is_nested_in_the_call_that_began_it(trace: Trace, tmp_path: Path) -> None:
    """The parent names the thread; a sub-agent's sub-agent belongs to the same conversation."""
    last = "019b0000-0000-7000-8000-00000000000c"

    def spawned(thread: str, by: str) -> dict[str, Any]:
        told = {"parent_thread_id": by, "agent_nickname": thread[-1]}
        return meta(thread, 3, source={"subagent": {"thread_spawn": told}}, session_id=PARENT)

    def began(call: str, thread: str) -> list[dict[str, Any]]:
        return called(2, call, "{}", type="SubAgentActivity", kind="started", agent_thread_id=thread)

    files = [
        rollout(tmp_path, PARENT, meta(PARENT, 0), *turn(EARLY, 1, "One"), *began("c1", FORK), count(3, 100, 100)),
        rollout(tmp_path, FORK, spawned(FORK, PARENT), *turn(IN_FORK, 4, "Look"), *began("c2", last), count(5, 40, 40)),
        rollout(tmp_path, last, spawned(last, FORK), *turn(IN_FORK[:-1] + "f", 5, "Help"), count(6, 7, 7)),
    ]

    trace.take(*files)

    assert {f"codex-{PARENT}": 147} == trace.tokens()
    statement = """
        SELECT start.name, json_extract(call.payload_json, '$.tool_call_id') FROM events AS start
        JOIN events AS call ON call.event_id = start.parent_id
        WHERE start.type = 'agent_start' AND call.type = 'tool_call' ORDER BY 2
    """
    assert [(f"{FORK[-1]} {FORK[:12]}", "c1"), (f"c {last[:12]}", "c2")] == trace.rows(statement)


def test_whether_a_call_worked(trace: Trace, tmp_path: Path) -> None:
    """By the item where there is one, by the exit code in the output, by the words of a refusal."""
    file = rollout(
        tmp_path,
        PARENT,
        meta(PARENT, 0),
        *turn(EARLY, 1, "One"),
        *called(2, "a", "text", type="CommandExecution", status="failed", exit_code=3),
        *called(4, "b", "Wall time: 0\nProcess exited with code 0\nOutput:\nProcess exited with code 1\n"),
        *called(6, "c", '{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.5}}'),
        *called(8, "d", "approval policy is Never; reject command"),
        *called(10, "e", "a report on a patch rejected: last year"),
        over(20),
    )

    trace.take(file)

    calls = [(call["tool_call_id"], call["ok"], call["duration_ms"]) for call in trace.payloads("tool_call")]
    assert [("a", False, None), ("b", True, None), ("c", False, 500), ("d", False, None), ("e", True, None)] == calls


def test_a_call_that_runs_on_is_over_when_its_item_says_so(trace: Trace, tmp_path: Path) -> None:
    """Its first answer only says that it runs."""
    running = called(2, "a", "Process running with session ID 7")
    item = {"id": "a", "type": "CommandExecution", "status": "completed", "exit_code": 0, "aggregated_output": "done"}
    told = record("event_msg", 9, type="item_completed", item=item)
    file = rollout(
        tmp_path, PARENT, meta(PARENT, 0), *turn(EARLY, 1, "One"), *running, told, *called(10, "b", _RUNNING)
    )

    trace.take(file)

    calls = [(call["tool_call_id"], call["ok"], call.get("interrupted")) for call in trace.payloads("tool_call")]
    assert [("a", True, None), ("b", False, True)] == sorted(calls)


_RUNNING = "Process running with session ID 8"


def test_how_a_turn_ended(trace: Trace, tmp_path: Path) -> None:
    """Completed, failed with the provider's words, aborted, or not at all."""
    failed = over(4, error={"message": '{"error":{"message":"prompt is bad"}}'})
    aborted = record("event_msg", 6, type="turn_aborted", reason="interrupted")
    third = "01957000-0003-7000-8000-00000000000e"
    file = rollout(
        tmp_path,
        PARENT,
        meta(PARENT, 0),
        *turn(EARLY, 1, "One"),
        count(2, 10, 10),
        failed,
        *turn(LATER, 5, "Two"),
        count(5, 20, 10),
        aborted,
        *turn(third, 7, "Three"),
        count(8, 30, 10),
    )

    trace.take(file)

    ends = [(end["sends"][0]["verdict"], end["sends"][0]["error"]) for end in trace.payloads("agent_end")]
    assert [("provider_error", "prompt is bad"), ("aborted", "the turn was interrupted"), ("incomplete", None)] == ends


def test_a_plan_is_money_of_its_own_kind(trace: Trace, tmp_path: Path) -> None:
    """What a subscription covers is told at list price under its own basis, never as billed."""
    pytest.importorskip("genai_prices")
    told = count(2, 1_000_000, 1_000_000, rate_limits={"plan_type": "plus"})
    file = rollout(tmp_path, PARENT, meta(PARENT, 0), *turn(EARLY, 1, "One"), told, over(3))

    trace.take(file)

    ((billed, estimated, basis),) = trace.rows("SELECT total_cost, estimated_cost, cost_basis FROM sessions")
    assert (None, "subscription") == (billed, basis)
    assert estimated > 0
