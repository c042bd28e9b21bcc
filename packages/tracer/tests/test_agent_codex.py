"""Codex's stream and rollout, quirk by quirk."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer.agents import SendOutcome, Waited
from agent_workflow.tracer.agents._codex_stream import CodexStream

AT = "2026-11-30T00:00:00.000+00:00"
THREAD = "01a22b54-1b4b-7ce2-a0a1-b17059054071"
STARTED = [{"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}]
RAW_REFUSAL = json.dumps({"error": {"message": "prompt is bad", "type": "invalid_request_error"}})


def told(whole: int, cached: int, given: int, reasoning: int) -> dict[str, int]:
    """Make a usage as Codex tells it: input with the cache, output with reasoning."""
    return {
        "input_tokens": whole,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": 0,
        "output_tokens": given,
        "reasoning_output_tokens": reasoning,
        "total_tokens": whole + given,
    }


def completed(*numbers: int) -> dict[str, Any]:
    """Make the end of a turn."""
    return {"type": "turn.completed", "usage": told(*numbers)}


def item(state: str, kind: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    """Make an item that has started or completed."""
    return {"type": f"item.{state}", "item": {"id": f"item_{number}", "type": kind, **fields}}


def play(*records: Any, code: int = 0, reader: CodexStream | None = None) -> tuple[SendOutcome, list[Any]]:
    """Feed records and return what came of them."""
    reader = reader or CodexStream()
    seen = [item for record in records for item in reader.read(json.dumps(record).encode(), AT)]
    seen += reader.complete()
    return reader.outcome(code, AT), seen


def rollout(sessions: Path, *records: tuple[str, dict[str, Any]], append: bool = False, thread: str = THREAD) -> Path:
    """Write a rollout as Codex keeps it."""
    file = sessions / "2026/11/30" / f"rollout-2026-11-30T07-21-02-{thread}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"timestamp": "2026-11-30T07:21:02.075Z", "type": kind, "payload": payload} for kind, payload in records]
    with file.open("a" if append else "w") as opened:
        opened.writelines(json.dumps(line) + "\n" for line in lines)
    return file


def turn(*calls: tuple[tuple[int, int, int, int], tuple[int, int, int, int]]) -> list[tuple[str, dict[str, Any]]]:
    """Make the records of a turn whose model calls each have a usage and the thread's total."""
    records: list[tuple[str, dict[str, Any]]] = [
        ("event_msg", {"type": "task_started", "model_context_window": 258_400}),
        ("turn_context", {"model": "model-1"}),
    ]
    for own, whole in calls:
        records.append(("token_usage_record", {"usage": told(*own), "thread_token_usage": told(*whole)}))
        info = {"total_token_usage": told(*whole), "last_token_usage": told(*own), "model_context_window": 258_400}
        records += [("event_msg", {"type": "token_count", "info": info})] * 2  # it is told again unchanged
    return records


def test_input_includes_the_cache_and_output_the_reasoning() -> None:
    """The components are taken apart so that they sum to the total; money and model are unknown."""
    outcome, _ = play(*STARTED, item("completed", "agent_message", text="done"), completed(1110, 1000, 51, 20))

    usage = outcome.usage
    assert (110, 51, 1000, 0, 20, 1161) == (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.total,
    )
    assert ("answered", "done", "none", "", None) == (
        outcome.verdict,
        outcome.text,
        outcome.cost_basis,
        outcome.model,
        outcome.turns,
    )


def test_usage_counts_on_over_the_thread() -> None:
    """A resumed turn tells the thread's total: what was counted before is taken off, and handed on."""
    first, _ = play(*STARTED, completed(1000, 400, 100, 50))
    resumed = CodexStream(thread=THREAD, counted=first.counted)
    second, _ = play(*STARTED, completed(1500, 600, 130, 60), reader=resumed)

    assert (300, 30, 200, 10, 530) == (
        second.usage.input,
        second.usage.output,
        second.usage.cache_read,
        second.usage.reasoning,
        second.usage.total,
    )
    assert {"input": 900, "output": 130, "cache_read": 600, "cache_write": 0, "reasoning": 60} == second.counted


def test_thread_whose_earlier_total_nobody_knows() -> None:
    """A total that cannot be split is unknown, not this send's."""
    outcome, _ = play(*STARTED, completed(1500, 600, 130, 60), reader=CodexStream(thread=THREAD))

    assert ("unknown", 0) == (outcome.usage_known, outcome.usage.total)


@pytest.mark.parametrize(
    ("records", "code", "verdict", "error"),
    [
        ([completed(1, 0, 1, 0)], 0, "answered", ""),
        ([completed(1, 0, 1, 0)], 1, "failed", "exit code 1"),
        ([], 0, "incomplete", "the stream stopped before the turn had completed"),
        ([], -15, "failed", "ended by signal 15"),
        ([{"type": "error", "message": "no such model"}], 1, "failed", "no such model"),
        ([{"type": "turn.failed", "error": {"message": RAW_REFUSAL}}], 1, "provider_error", "prompt is bad"),
        ([{"type": "turn.failed", "error": {"message": "busy"}}], 1, "provider_error", "busy"),
        ([{"type": "turn.failed"}], 1, "provider_error", "the turn failed without a message"),
    ],
)
def test_verdict(records: list[Any], code: int, verdict: str, error: str) -> None:
    """How a send ended is told by the end of its turn; a raw answer of the provider is read."""
    outcome, _ = play(*STARTED, *records, code=code)

    assert (verdict, error) == (outcome.verdict, outcome.error)


def test_errors_that_are_none() -> None:
    """Reconnecting is a wait, a warning is one, and the turn may end well after both."""
    outcome, seen = play(
        *STARTED,
        item("completed", "error", message="unknown model"),
        {"type": "error", "message": "Reconnecting... 1/2 (busy)"},
        completed(1, 0, 1, 0),
    )

    assert [
        Waited("agent_warning", {"message": "unknown model"}),
        Waited("reconnecting", {"attempt": 1, "max_attempts": 2, "error": "busy"}),
    ] == seen
    assert ("answered", 1) == (outcome.verdict, outcome.retries)


def test_tools() -> None:
    """Each kind of item is a call with what it was asked and what came back."""
    change = {"changes": [{"path": "a.md", "kind": "add"}]}
    mcp = {"server": "docs", "tool": "find", "arguments": {"q": 1}}
    failure = {"error": {"message": "no"}, "status": "failed"}
    _, seen = play(
        *STARTED,
        item("started", "command_execution", 1, command="ls", status="in_progress"),
        item("completed", "command_execution", 1, command="ls", aggregated_output="a\n", exit_code=3, status="failed"),
        item("completed", "file_change", 2, status="completed", **change),
        item("completed", "mcp_tool_call", 3, **mcp, **failure),
        item("completed", "web_search", 4, query="x"),
        item("completed", "todo_list", 5, items=[]),
    )

    assert [
        ("command_execution", {"command": "ls"}, "a\n", False),
        ("file_change", {"path": "a.md", **change}, "", True),
        ("docs.find", {"q": 1}, "no", False),
        ("web_search", {"query": "x"}, "", True),
    ] == [(call.tool, call.args, call.result, call.ok) for call in seen]


def test_rollout_tells_what_the_stream_lacks(tmp_path: Path) -> None:
    """Model, window, context and the usage of each call; counts that are told again count once."""
    one, two = (100, 0, 50, 20), (1110, 1000, 51, 20)
    file = rollout(tmp_path, *turn((one, one), (two, (1210, 1000, 101, 40))))
    outcome, _ = play(*STARTED, item("completed", "agent_message", text="x"), code=-9, reader=CodexStream(tmp_path))

    assert ("model-1", 258_400, 1161, 2) == (
        outcome.model,
        outcome.context_window,
        outcome.context_tokens,
        outcome.turns,
    )
    assert ([150, 1161], 1311, "partial") == (
        [call.total for call in outcome.per_call],
        outcome.usage.total,
        outcome.usage_known,
    )
    assert file == outcome.own_record


def test_rollout_of_an_older_version(tmp_path: Path) -> None:
    """Where only running totals are told, each one that is new is a call."""
    one, two = (100, 0, 50, 20), (1110, 1000, 51, 20)
    records = [record for record in turn((one, one), (two, (1210, 1000, 101, 40))) if record[0] != "token_usage_record"]
    rollout(tmp_path, *records)
    outcome, _ = play(*STARTED, completed(1210, 1000, 101, 40), reader=CodexStream(tmp_path))

    assert ([150, 1161], 1311) == ([call.total for call in outcome.per_call], outcome.usage.total)


def test_rollout_of_a_resumed_thread(tmp_path: Path) -> None:
    """Turns of earlier sends are none of ours, known beforehand or not."""
    one, both = (100, 0, 50, 20), (300, 50, 80, 30)
    rollout(tmp_path, *turn((one, one)))
    resumed = CodexStream(tmp_path, thread=THREAD, counted={"input": 100, "output": 50})
    rollout(tmp_path, *turn(((200, 50, 30, 10), both)), append=True)
    known, _ = play(*STARTED, completed(*both), reader=resumed)
    guessed, _ = play(*STARTED, completed(*both), reader=CodexStream(tmp_path))

    assert (230, 230) == (known.usage.total, guessed.usage.total)
    assert 250 == known.counted["input"]


def test_nothing_was_added_to_the_rollout(tmp_path: Path) -> None:
    """A resumed send that was killed before it wrote anything does not get the earlier turn's spend."""
    rollout(tmp_path, *turn(((100, 0, 50, 20), (100, 0, 50, 20))))
    counted = {"input": 100, "output": 50}
    outcome, _ = play(STARTED[0], code=-9, reader=CodexStream(tmp_path, thread=THREAD, counted=counted))

    assert ("unknown", 0, counted) == (outcome.usage_known, outcome.usage.total, outcome.counted)


def test_calls_that_the_stream_hides(tmp_path: Path) -> None:
    """A rejected call is a denial, a failed one is a call; one that the stream has shown is not told again."""

    def asked(call_id: str, name: str, output: str) -> list[tuple[str, dict[str, Any]]]:
        call = {"type": "function_call", "name": name, "arguments": '{"cmd": "x"}', "call_id": call_id}
        return [
            ("response_item", call),
            ("response_item", {"type": "function_call_output", "call_id": call_id, "output": output}),
        ]

    rollout(
        tmp_path,
        *turn(),
        *asked("a", "apply_patch", "patch rejected: read-only; rejected by user approval settings"),
        *asked("b", "exec_command", "Wall time: 0\nProcess exited with code 1\n"),
        *asked("c", "exec_command", "Process running with session ID 7\n"),
        *asked("d", "write_stdin", "tick"),
        *asked("e", "exec_command", "Process exited with code 0\n"),
        ("event_msg", {"type": "item_completed", "item": {"type": "CommandExecution", "id": "e"}}),
    )
    outcome, seen = play(*STARTED, completed(1, 0, 1, 0), reader=CodexStream(tmp_path))

    assert [("apply_patch", False, {"cmd": "x"}), ("exec_command", False, {"cmd": "x"})] == [
        (call.tool, call.ok, call.args) for call in seen
    ]
    assert ["a"] == [denial.tool_call_id for denial in outcome.denials]
    assert {"2026-11-30T07:21:02.075+00:00"} == {call.started_at for call in seen}


def test_subagents_have_rollouts_of_their_own(tmp_path: Path) -> None:
    """They and theirs count, with their calls; what an earlier send had them do does not."""
    scout, helper = f"{THREAD[:-1]}2", f"{THREAD[:-1]}3"

    def began(turn_id: str, root: str) -> tuple[str, dict[str, Any]]:
        return "event_msg", {"type": "task_started", "turn_id": turn_id, "root_turn_id": root}

    def spawned(call_id: str, thread: str) -> list[tuple[str, dict[str, Any]]]:
        activity = {"type": "SubAgentActivity", "id": call_id, "kind": "started", "agent_thread_id": thread}
        call = {"type": "function_call", "name": "spawn_agent", "namespace": "collaboration", "call_id": call_id}
        output = {"type": "function_call_output", "call_id": call_id, "output": '{"task_name":"/root/look"}'}
        item_completed = {"type": "item_completed", "item": activity}
        return [("response_item", call), ("event_msg", item_completed), ("response_item", output)]

    def spent(number: int) -> tuple[str, dict[str, Any]]:
        return "token_usage_record", {"usage": told(number, 0, 0, 0), "thread_token_usage": told(number, 0, 0, 0)}

    ran = {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "c3"}
    output = {"type": "function_call_output", "call_id": "c3", "output": "Process exited with code 0\n"}
    shown = {"type": "item_completed", "item": {"type": "CommandExecution", "id": "c3"}}
    rollout(tmp_path, began("t1", "t1"), *spawned("c1", scout), spent(1))
    rollout(
        tmp_path, began("s0", "t0"), spent(1000), began("s1", "t1"), *spawned("c2", helper), spent(10), thread=scout
    )
    work: list[tuple[str, dict[str, Any]]] = [("response_item", ran), ("event_msg", shown), ("response_item", output)]
    rollout(tmp_path, began("h1", "t1"), spent(100), *work, thread=helper)
    outcome, seen = play(*STARTED, completed(1, 0, 0, 0), reader=CodexStream(tmp_path))

    assert [("spawn_agent", True, ""), ("spawn_agent", True, "c1"), ("exec_command", True, "c2")] == [
        (call.tool, call.ok, call.parent_call_id) for call in seen
    ]
    assert outcome.subagents is not None
    assert (111, 110, 1, "whole") == (outcome.usage.total, outcome.subagents.total, outcome.turns, outcome.usage_known)


def test_turn_that_was_interrupted(tmp_path: Path) -> None:
    """The rollout knows that the turn was aborted, where the stream merely stops."""
    rollout(tmp_path, *turn(), ("event_msg", {"type": "turn_aborted", "reason": "interrupted"}))
    outcome, _ = play(*STARTED, code=1, reader=CodexStream(tmp_path))

    assert ("aborted", "interrupted") == (outcome.verdict, outcome.stop_reason)


def test_raw_line_separators_split_nothing() -> None:
    """A line separator inside of a text stands there raw."""
    line = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"a\u2028b"}}'.encode()
    reader = CodexStream()

    assert [[], []] == [list(reader.read(part, AT)) for part in (line + b"\n{").split(b"\n")]
    assert ("a\u2028b", 1) == (reader.outcome(0, AT).text, reader.damaged)
