"""An agent's command is recognised by its stream, and its calls, tokens and end are recorded as in a workflow."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from running_lab import Lab

Record = dict[str, Any]

_CLAUDE_SPENT = {
    "input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2,
}  # fmt: skip
CLAUDE: list[Record] = [
    {"type": "system", "subtype": "init", "session_id": "c-1", "model": "claude-x", "uuid": "1"},
    {
        "type": "assistant",
        "session_id": "c-1",
        "parent_tool_use_id": None,
        "message": {
            "id": "m1",
            "model": "claude-x",
            "stop_reason": None,
            "usage": {**_CLAUDE_SPENT, "output_tokens": 1},
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
        },
    },
    {
        "type": "user",
        "session_id": "c-1",
        "parent_tool_use_id": None,
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a b"}]},
    },
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "c-1",
        "result": "done",
        "num_turns": 2,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.5,
        "usage": _CLAUDE_SPENT,
        "permission_denials": [],
        "modelUsage": {
            "claude-x": {
                "inputTokens": 7,
                "outputTokens": 5,
                "cacheReadInputTokens": 3,
                "cacheCreationInputTokens": 2,
                "costUSD": 0.5,
                "contextWindow": 200_000,
            }
        },
    },
]
CODEX: list[Record] = [
    {"type": "thread.started", "thread_id": "x-1"},
    {"type": "turn.started"},
    {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "command": "ls", "exit_code": None}},
    {
        "type": "item.completed",
        "item": {
            "id": "item_0",
            "type": "command_execution",
            "command": "ls",
            "aggregated_output": "a b",
            "exit_code": 0,
            "status": "completed",
        },
    },
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "done"}},
    {"type": "turn.completed", "usage": {"input_tokens": 12, "cached_input_tokens": 3, "output_tokens": 5}},
]
GEMINI: list[Record] = [
    {"type": "init", "timestamp": "2026-01-01T00:00:00.000Z", "session_id": "g-1", "model": "gemini-x"},
    {
        "type": "tool_use",
        "timestamp": "2026-01-01T00:00:01.000Z",
        "tool_name": "run_shell_command",
        "tool_id": "t1",
        "parameters": {"command": "ls"},
    },
    {
        "type": "tool_result",
        "timestamp": "2026-01-01T00:00:02.000Z",
        "tool_id": "t1",
        "status": "success",
        "output": "a",
    },
    {"type": "message", "timestamp": "2026-01-01T00:00:03.000Z", "role": "assistant", "content": "done", "delta": True},
    {
        "type": "result",
        "timestamp": "2026-01-01T00:00:04.000Z",
        "status": "success",
        "stats": {"total_tokens": 17, "input_tokens": 12, "output_tokens": 5, "cached": 3, "input": 9, "tool_calls": 1},
    },
]
OPENCODE: list[Record] = [
    {"type": "step_start", "timestamp": 1, "sessionID": "o-1", "part": {"id": "p1", "messageID": "m1"}},
    {
        "type": "tool_use",
        "timestamp": 3,
        "sessionID": "o-1",
        "part": {
            "tool": "bash",
            "callID": "t1",
            "state": {
                "status": "completed",
                "input": {"command": "ls"},
                "output": "a b",
                "metadata": {"exit": 0},
                "time": {"start": 1, "end": 2},
            },
        },
    },
    {"type": "text", "timestamp": 3, "sessionID": "o-1", "part": {"text": "done"}},
    {
        "type": "step_finish",
        "timestamp": 4,
        "sessionID": "o-1",
        "part": {
            "reason": "stop",
            "tokens": {"total": 17, "input": 7, "output": 5, "reasoning": 0, "cache": {"read": 3, "write": 2}},
            "cost": 0.5,
        },
    },
]
_PI_MESSAGE: Record = {
    "role": "assistant",
    "content": [{"type": "text", "text": "done"}],
    "api": "x",
    "provider": "local",
    "model": "pi-x",
    "stopReason": "stop",
    "responseId": "r1",
    "timestamp": 1,
    "usage": {
        "input": 7,
        "output": 5,
        "cacheRead": 3,
        "cacheWrite": 2,
        "totalTokens": 17,
        "cost": {"input": 0.2, "output": 0.2, "cacheRead": 0.05, "cacheWrite": 0.05, "total": 0.5},
    },
}
PI: list[Record] = [
    {"type": "session", "version": 3, "id": "p-1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
    {"type": "agent_start"},
    {"type": "tool_execution_start", "toolCallId": "t1", "toolName": "bash", "args": {"command": "ls"}},
    {
        "type": "tool_execution_end",
        "toolCallId": "t1",
        "toolName": "bash",
        "result": {"content": [{"type": "text", "text": "a b"}]},
        "isError": False,
        "durationMs": 1,
    },
    {"type": "message_end", "message": _PI_MESSAGE},
    {"type": "agent_end", "messages": [_PI_MESSAGE], "willRetry": False},
    {"type": "agent_settled", "aborted": False},
]
STREAMS = {
    "claude_code": (CLAUDE, "Bash: ls", "c-1", (7, 5, 3, 2), 0.5),
    "codex": (CODEX, "command_execution: ls", "x-1", (9, 5, 3, 0), None),
    "gemini": (GEMINI, "run_shell_command: ls", "g-1", (9, 5, 3, 0), None),
    "opencode": (OPENCODE, "bash: ls", "o-1", (7, 5, 3, 2), 0.5),
    "pi": (PI, "bash: ls", "p-1", (7, 5, 3, 2), 0.5),
}
COMPONENTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def play(lab: Lab, records: Sequence[Record], *options: str, before: bytes = b"", code: int = 0) -> bytes:
    """Record a command that prints a stream; return what was to be printed."""
    data = before + b"".join(json.dumps(record).encode() + b"\n" for record in records)
    (lab.root / "stream").write_bytes(data)
    lab.environment |= {"CLAUDE_CONFIG_DIR": str(lab.root / "none"), "CODEX_HOME": str(lab.root / "none")}
    recorded = lab.recorded("sh", "-c", f"cat stream; exit {code}", options=options)

    assert (code, data, b"") == (recorded.returncode, recorded.stdout, recorded.stderr)
    return data


@pytest.mark.parametrize("agent", STREAMS)
def test_agent_is_recognised(lab: Lab, agent: str) -> None:
    """Calls, tokens, money, the agent's own session and the end are in the trace as in a workflow."""
    records, label, session_id, tokens, cost = STREAMS[agent]
    data = play(lab, records)

    (call,), end, (row,) = lab.events("tool_call"), lab.end(), lab.rows("agent_sessions")
    assert (label, True) == (call["name"], call["payload"]["ok"])
    assert call["parent_id"] == lab.events("agent_start")[0]["event_id"]
    assert tokens == tuple(end["usage"][name] for name in COMPONENTS)
    assert (cost, 0, len(data)) == (end["cost"], end["exit_code"], end["stdout_bytes"])
    assert (agent, session_id) == (row["coding_agent"], row["session_id"])
    session = lab.session()
    assert ("success", sum(tokens), cost) == (session["status"], session["total_tokens"], session["total_cost"])


def test_warnings_before_the_stream(lab: Lab) -> None:
    """Lines before the first record that is an agent's do not hide the agent."""
    play(lab, CODEX, before=b"Warning: something\n\n{not json\n" + b'{"type": "other"}\n')

    assert "codex" == lab.rows("agent_sessions")[0]["coding_agent"]


def test_failure_behind_exit_code_zero(lab: Lab) -> None:
    """An agent that says it failed did, though it exits with 0: the session fails, the exit code stays."""
    failed = {**CLAUDE[-1], "is_error": True, "result": "API Error: 400", "api_error_status": 400}
    play(lab, [*CLAUDE[:-1], failed])

    assert "fail" == lab.session()["status"]
    assert "API Error: 400" == lab.rows("phases")[0]["error"]


def test_stream_that_breaks_off(lab: Lab) -> None:
    """A call that never came back was interrupted, and the session fails."""
    play(lab, CODEX[:3], code=1)

    (call,) = lab.events("tool_call")
    assert (False, True) == (call["payload"]["ok"], call["payload"]["interrupted"])
    assert ("fail", "exit code 1") == (lab.session()["status"], lab.rows("phases")[0]["error"])


def test_agent_that_was_named(lab: Lab) -> None:
    """The name that was given is the lane; a stream of it is read."""
    play(lab, PI, "--agent", "pi")

    assert "pi" == lab.rows("phases")[0]["owner"]
    assert [("pi", "p-1")] == [(row["agent"], row["session_id"]) for row in lab.rows("agent_sessions")]


def test_named_agent_that_prints_text(lab: Lab) -> None:
    """An agent that was named and prints no stream of its kind is recorded as a command of that name."""
    play(lab, [], "--agent", "claude", before=b"Here is the plan.\n")

    assert ("success", None) == (lab.session()["status"], lab.end()["usage"])
    assert "claude_code" == lab.events("agent_start")[0]["payload"]["coding_agent"]


def test_text_that_looks_a_little_like_a_stream(lab: Lab) -> None:
    """JSON that is no agent's is an unknown command's output."""
    play(lab, [{"type": "session"}, {"type": "init"}, {"type": "result", "result": 1}])

    assert "success" == lab.session()["status"]
    assert [] == lab.rows("agent_sessions")


@pytest.mark.parametrize("agent", STREAMS)
def test_hostile_records(lab: Lab, agent: str) -> None:
    """Records of the right types with parts of wrong ones cost the account at most: the rest is as ever."""
    records = STREAMS[agent][0]
    wrong: list[object] = [None, 7, "x", [], {}, [None], {"id": 5}, 1e308, True]
    hostile = [{**record, key: value} for record in records for key in record if key != "type" for value in wrong]
    data = b"".join(json.dumps(record).encode() + b"\n" for record in [records[0], *hostile, *records[1:]])
    (lab.root / "stream").write_bytes(data)
    recorded = lab.recorded("cat", "stream")

    assert (0, data) == (recorded.returncode, recorded.stdout)
    assert data == lab.stored()
    assert "running" != lab.session()["status"]
    assert len(data) == lab.end()["stdout_bytes"]
