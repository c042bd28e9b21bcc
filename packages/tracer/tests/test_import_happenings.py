"""What happened beside the calls of an imported session: denials, retries, compaction; and what the window holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from import_lab import FIRST, Trace, answer, lines, moment, prompt, tool_use

NOT_GRANTED = "Claude requested permissions to write to /home/dev/x.md, but you haven't granted it yet."
BLOCKED = "rm in '/home/dev/none' was blocked. For security, Claude Code may only remove files from the allowed."


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """An empty trace."""
    return Trace(tmp_path / "trace")


def refused(call: str, at: float, text: str, *, is_error: bool = True) -> dict[str, Any]:
    """The line in which a tool of Claude Code comes back."""
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}
    head = {"type": "user", "sessionId": FIRST, "uuid": f"result {call}", "timestamp": moment(at)}
    return {**head, "message": {"role": "user", "content": [block]}}


def system(subtype: str, at: float, **told: Any) -> dict[str, Any]:
    """A line of Claude Code's own."""
    head = {"type": "system", "subtype": subtype, "sessionId": FIRST, "uuid": f"{subtype} {at}"}
    return {**head, "timestamp": moment(at), **told}


def logged(trace: Trace) -> list[tuple[str, dict[str, Any]]]:
    """Return names and payloads of the log events beside the request, by time."""
    statement = "SELECT name, payload_json FROM events WHERE type = 'log' AND name <> 'request' ORDER BY started_at"
    return [(name, json.loads(payload)) for name, payload in trace.rows(statement)]


def send_of(trace: Trace) -> dict[str, Any]:
    """Return the send of the last turn."""
    send: dict[str, Any] = trace.payloads("agent_end")[-1]["sends"][0]
    return send


def test_what_claude_code_was_not_allowed(trace: Trace, tmp_path: Path) -> None:
    """The words of the refusal tell; an error that only quotes them is none, nor is a good result."""
    (tmp_path / f"{FIRST}.jsonl").write_bytes(
        lines(
            prompt(FIRST, "Go", 1),
            answer(FIRST, "a", 2, *(tool_use(call) for call in "wxyz")),
            refused("w", 3, NOT_GRANTED),
            refused("x", 3.1, BLOCKED),
            refused("y", 3.2, f"Exit code 1\n{NOT_GRANTED}"),
            refused("z", 3.3, NOT_GRANTED, is_error=False),
            answer(FIRST, "b", 4),
        )
    )

    trace.take(tmp_path)

    assert [("Bash", "w", NOT_GRANTED), ("Bash", "x", BLOCKED)] == [
        (one["tool"], one["tool_call_id"], one["reason"]) for one in send_of(trace)["denials"]
    ]
    assert [] == logged(trace)


def test_retries_and_compaction_of_claude_code(trace: Trace, tmp_path: Path) -> None:
    """They are told in the stream's words; behind a compaction nobody knows what the window holds."""
    retry = system("api_error", 3, error={"status": 529}, retryAttempt=1, maxRetries=10, retryInMs=600.5)
    compact = system("compact_boundary", 6, compactMetadata={"trigger": "auto", "preTokens": 155_000})
    file = tmp_path / f"{FIRST}.jsonl"
    file.write_bytes(lines(prompt(FIRST, "Go", 1), retry, answer(FIRST, "a", 4), compact))
    trace.take(tmp_path)
    (compacted,) = trace.rows("SELECT context_tokens FROM agent_sessions")
    with file.open("ab") as grown:
        grown.write(lines(answer(FIRST, "b", 8, spent=(30, 7))))

    trace.take(tmp_path)

    assert [
        (
            "api_retry",
            {"attempt": 1, "max_retries": 10, "retry_delay_ms": 600.5, "error_status": 529, "agent": "claude_code"},
        ),
        ("compaction", {"trigger": "auto", "pre_tokens": 155_000, "agent": "claude_code"}),
    ] == logged(trace)
    assert 1 == send_of(trace)["retries"]
    assert ((None,), [(37,)]) == (compacted, trace.rows("SELECT context_tokens FROM agent_sessions"))


def test_a_record_that_never_tells_of_retries(trace: Trace, tmp_path: Path) -> None:
    """None told is not none: how often Claude Code tried again is in no line of ``-p``."""
    (tmp_path / f"{FIRST}.jsonl").write_bytes(lines(prompt(FIRST, "Go", 1), answer(FIRST, "a", 4)))

    trace.take(tmp_path)

    assert (None, []) == (send_of(trace)["retries"], send_of(trace)["denials"])


def pi(identity: str, at: float, **message: Any) -> dict[str, Any]:
    """An entry of a session of pi."""
    return {"type": "message", "id": identity, "timestamp": moment(at), "message": message}


def pi_answer(identity: str, at: float, tokens: int, stop: str = "stop", error: str = "") -> dict[str, Any]:
    """An answer of pi's model, which cost a dollar."""
    usage = {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 1 if tokens else 0}}
    told = {"role": "assistant", "provider": "p", "model": "m", "usage": usage, "stopReason": stop, "content": []}
    return pi(identity, at, **told, **({"errorMessage": error} if error else {}))


PI = {"type": "session", "version": 3, "id": "S", "timestamp": moment(0), "cwd": "/home/dev/repo"}


def test_pi_tries_again_by_itself(trace: Trace, tmp_path: Path) -> None:
    """An answer behind a refusal is another try; one behind the next prompt is not."""
    file = tmp_path / "one.jsonl"
    first = lines(PI, pi("u", 1, role="user", content="Hi"), pi_answer("e", 2, 0, "error", "500"))
    second = lines(pi_answer("f", 3, 0, "error", "503"), pi_answer("a", 4, 100))
    last = lines(pi("v", 5, role="user", content="Again"), pi_answer("g", 6, 0, "error", "400"))
    file.write_bytes(first)
    trace.take(tmp_path)
    file.write_bytes(first + second)
    trace.take(tmp_path)
    file.write_bytes(first + second + last)
    trace.take(tmp_path)
    file.write_bytes(first + second + last + lines(pi("w", 7, role="user", content="So"), pi_answer("b", 8, 1)))

    trace.take(tmp_path)

    assert [("auto_retry_start", "500"), ("auto_retry_start", "503")] == [
        (name, payload["error"]) for name, payload in logged(trace)
    ]
    assert [2, 0, 0] == [end["sends"][0]["retries"] for end in trace.payloads("agent_end")]


def test_what_pi_s_compaction_and_tools_cost_is_told_apart(trace: Trace, tmp_path: Path) -> None:
    """As the recorder does: tokens and money of the call are all three, the window holds only the conversation."""
    extra = {"input": 30, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.25}}
    result = {"role": "toolResult", "toolCallId": "c", "content": "x", "isError": False, "usage": extra}
    head = lines(PI, pi("u", 1, role="user", content="Hi"), pi_answer("a", 2, 100), pi("t", 3, **result))
    compaction = {"type": "compaction", "id": "c", "timestamp": moment(4), "tokensBefore": 90_000, "usage": extra}
    file = tmp_path / "one.jsonl"
    file.write_bytes(head)
    trace.take(tmp_path)
    ((before,),) = trace.rows("SELECT context_tokens FROM agent_sessions")
    file.write_bytes(head + lines(compaction))

    trace.take(tmp_path)

    (end,) = trace.payloads("agent_end")
    names = ("usage", "compaction_usage", "tool_usage")
    assert [(100, 1.0), (31, 0.25), (31, 0.25)] == [(end[n]["total_tokens"], end[n]["total_cost"]) for n in names]
    assert (162, 1.5, 1) == (end["tokens"], end["cost"], send_of(trace)["turns"])
    assert (100, [(None,)]) == (before, trace.rows("SELECT context_tokens FROM agent_sessions"))
    assert [("compaction", {"tokens_before": 90_000, "agent": "pi"})] == logged(trace)
    assert [(162, 1.5)] == trace.rows("SELECT total_tokens, total_cost FROM sessions")


def test_what_a_policy_of_gemini_cli_forbade(trace: Trace, tmp_path: Path) -> None:
    """By the words that came back; a tool that does not exist is an error and no denial."""
    told = {
        "p": 'Tool execution for "Shell" denied by policy.',
        "q": "[Operation Cancelled] Reason: User denied execution.",
        "r": 'Tool "x" not found.',
    }
    calls: list[dict[str, Any]] = [
        {
            "id": name,
            "name": "write_file",
            "args": {},
            "status": "cancelled" if name == "q" else "error",
            "result": [{"functionResponse": {"response": {"error": text}}}],
            "timestamp": moment(3),
        }
        for name, text in told.items()
    ]
    (tmp_path / "session-1.jsonl").write_bytes(
        lines(
            {"sessionId": "G", "projectHash": "h", "startTime": moment(0)},
            {"id": "u", "timestamp": moment(1), "type": "user", "content": "Go"},
            {"id": "a", "timestamp": moment(2), "type": "gemini", "content": "", "toolCalls": calls},
            {"id": "b", "timestamp": moment(4), "type": "gemini", "content": "Done"},
        )
    )

    trace.take(tmp_path)

    assert ["p", "q"] == [one["tool_call_id"] for one in send_of(trace)["denials"]]


def test_denials_and_compaction_of_codex(trace: Trace, tmp_path: Path) -> None:
    """A call that was rejected by the approval policy is denied, one that failed is not."""
    turn = "01a22b54-1edf-7450-b44e-d722e9ffd792"
    rejected = "approval policy is Never; reject command — you cannot ask for escalated permissions"

    def item(at: float, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": moment(at), "type": kind, "payload": payload}

    def spent(at: float, total: int, last: int) -> dict[str, Any]:
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}}
        return item(at, "event_msg", type="token_count", info=info)

    asked = [item(3, "response_item", type="function_call", call_id=call, name="exec", arguments="{}") for call in "ab"]
    (tmp_path / "rollout-x.jsonl").write_bytes(
        lines(
            item(0, "session_meta", id="01a22b54-1ebf-7f91-9367-7843e4d5b5f1", cwd="/home/dev/repo"),
            item(1, "event_msg", type="task_started", turn_id=turn),
            spent(2, 100, 100),
            *asked,
            item(4, "response_item", type="function_call_output", call_id="a", output=rejected),
            item(4, "response_item", type="function_call_output", call_id="b", output="Exit code: 3\nno"),
            item(5, "compacted", message="", replacement_history=[]),
            item(5.1, "event_msg", type="task_complete", turn_id=turn),
        )
    )

    trace.take(tmp_path)

    assert [("exec", "a", rejected)] == [
        (one["tool"], one["tool_call_id"], one["reason"]) for one in send_of(trace)["denials"]
    ]
    assert [("compaction", {"agent": "codex"})] == logged(trace)
    assert [(None,)] == trace.rows("SELECT context_tokens FROM agent_sessions")


def test_what_happened_in_a_copied_history_is_told_once(trace: Trace, tmp_path: Path) -> None:
    """A fork of pi begins with its parent's entries."""
    history = [
        pi("u", 1, role="user", content="Hi"),
        pi_answer("e", 2, 0, "error", "500"),
        pi_answer("a", 3, 100),
        {"type": "compaction", "id": "c", "timestamp": moment(4), "tokensBefore": 9},
    ]
    (tmp_path / "one.jsonl").write_bytes(lines(PI, *history))
    more = [pi("v", 9, role="user", content="Go on"), pi_answer("b", 10, 7)]
    (tmp_path / "two.jsonl").write_bytes(lines({**PI, "id": "T"}, *history, *more))

    trace.take(tmp_path)

    statement = "SELECT adw_id, name FROM events WHERE type = 'log' AND name <> 'request' ORDER BY started_at"
    assert [("pi-S", "auto_retry_start"), ("pi-S", "compaction")] == trace.rows(statement)
