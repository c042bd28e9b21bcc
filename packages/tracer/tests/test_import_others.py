"""Sessions of pi and gemini-cli: upserts, trees and documents."""

import json
from pathlib import Path
from typing import Any

import pytest
from import_lab import Trace, lines, moment


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """An empty trace."""
    return Trace(tmp_path / "trace")


def pi_message(identity: str, at: float, **message: Any) -> dict[str, Any]:
    """An entry of a session of pi."""
    return {"type": "message", "id": identity, "parentId": None, "timestamp": moment(at), "message": message}


def pi_answer(identity: str, at: float, tokens: int, cost: float | None, **more: Any) -> dict[str, Any]:
    """An answer with its spend."""
    usage: dict[str, Any] = {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens}
    if cost is not None:
        usage["cost"] = {"input": cost, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}
    told = {"role": "assistant", "provider": "local", "model": "m", "usage": usage, "stopReason": "stop", "content": []}
    return pi_message(identity, at, **{**told, **more})


def pi_session(identity: str) -> dict[str, Any]:
    """The first line of a session of pi."""
    return {"type": "session", "version": 3, "id": identity, "timestamp": moment(0), "cwd": "/home/dev/repo"}


def test_money_that_pi_tells_is_billed(trace: Trace, tmp_path: Path) -> None:
    """Every branch of the tree was paid for; a model without rates has no price."""
    ask = pi_message("u1", 1, role="user", content=[{"type": "text", "text": "Hi"}])
    (tmp_path / "priced.jsonl").write_bytes(
        lines(pi_session("A"), ask, pi_answer("a1", 2, 100, 0.25), pi_answer("a2", 3, 50, 0.5))
    )
    (tmp_path / "free.jsonl").write_bytes(lines(pi_session("B"), ask, pi_answer("b1", 2, 100, 0.0)))

    trace.take(tmp_path)

    assert [("pi-A", 150, 0.75, "billed", None), ("pi-B", 100, None, "unknown", None)] == trace.rows(
        "SELECT adw_id, total_tokens, total_cost, cost_basis, estimated_cost FROM sessions ORDER BY adw_id"
    )


def test_a_fork_of_pi_copies_entries(trace: Trace, tmp_path: Path) -> None:
    """The same entries in another file count for the first one."""
    old = [
        pi_message("u1", 1, role="user", content="Hi"),
        pi_answer("a1", 2, 100, 0.25),
        pi_message("t", 3, role="toolResult", toolCallId="none", content="late", isError=False),
    ]
    (tmp_path / "one.jsonl").write_bytes(lines(pi_session("A"), *old))
    fork = lines(pi_session("B"), *old, pi_message("u2", 9, role="user", content="Go on"), pi_answer("b", 10, 7, 0.5))
    (tmp_path / "two.jsonl").write_bytes(fork)

    trace.take(tmp_path)

    assert {"pi-A": 100, "pi-B": 7} == trace.tokens()


def test_compaction_and_tools_that_call_a_model_are_paid_for_too(trace: Trace, tmp_path: Path) -> None:
    """Where pi writes their usage down."""
    usage = {"input": 30, "output": 1, "cacheRead": 0, "cacheWrite": 0}
    (tmp_path / "one.jsonl").write_bytes(
        lines(
            pi_session("A"),
            pi_message("u1", 1, role="user", content="Hi"),
            pi_answer("a1", 2, 100, 0.25),
            {"type": "compaction", "id": "c", "timestamp": moment(3), "summary": "s", "usage": usage},
        )
    )

    trace.take(tmp_path)

    assert {"pi-A": 131} == trace.tokens()


def gemini_message(identity: str, at: float, tokens: int, *calls: dict[str, Any], text: str = "Well") -> dict[str, Any]:
    """An answer of gemini-cli."""
    spent = {"input": tokens, "output": 10, "cached": 4, "thoughts": 5, "tool": 0, "total": tokens + 15}
    told = {"id": identity, "timestamp": moment(at), "type": "gemini", "content": text, "tokens": spent}
    return {**told, "model": "gemini-2.5-pro", **({"toolCalls": list(calls)} if calls else {})}


def shell(call: str, output: str) -> dict[str, Any]:
    """A call of gemini-cli's shell, which always counts as a success."""
    result = [{"functionResponse": {"id": call, "response": {"output": output}}}]
    told = {"id": call, "name": "run_shell_command", "args": {"command": "x"}, "status": "success"}
    return {**told, "result": result, "timestamp": moment(9)}


GEMINI = {"sessionId": "G", "projectHash": "h", "startTime": moment(0), "kind": "main"}
ASK = {"id": "u", "timestamp": moment(1), "type": "user", "content": [{"text": "Look"}]}


def test_a_message_of_gemini_is_written_again_when_its_tools_have_returned(trace: Trace, tmp_path: Path) -> None:
    """It counts once; thoughts are output; what came from the cache is not input."""
    bad = shell("s2", "Output: no\nExit Code: 3\nProcess Group PGID: 1")
    (tmp_path / "session-1.jsonl").write_bytes(
        lines(
            GEMINI,
            {
                "$set": {
                    "messages": [{"id": "c", "timestamp": moment(0), "type": "user", "content": "<session_context>"}]
                }
            },
            ASK,
            gemini_message("a", 2, 100),
            gemini_message("a", 2, 100, shell("s1", "Exit Code: 3\n" + "x" * 600), bad),
            gemini_message("b", 10, 200),
        )
    )

    trace.take(tmp_path)

    (end,) = trace.payloads("agent_end")
    assert (96 + 196, 30, 8) == tuple(end["usage"][f"{name}_tokens"] for name in ("input", "output", "cache_read"))
    assert [("s1", True), ("s2", False)] == [(call["tool_call_id"], call["ok"]) for call in trace.payloads("tool_call")]
    assert {"gemini-G": "success"} == trace.statuses()


def test_the_one_document_of_older_versions(trace: Trace, tmp_path: Path) -> None:
    """It is written anew each time; half a document is told, and what was imported before stays."""
    file = tmp_path / "session-1.json"
    whole: dict[str, Any] = {**GEMINI, "messages": [ASK, gemini_message("a", 2, 100)]}
    file.write_text(json.dumps(whole, indent=2))
    trace.take(file)
    before = trace.tokens()
    whole["messages"].append(gemini_message("b", 3, 200))
    file.write_text(json.dumps(whole, indent=2)[:-30])
    torn = trace.take(file)
    meanwhile = trace.tokens()
    file.write_text(json.dumps(whole, indent=2))

    trace.take(file)

    assert {"gemini-G": 115} == before == meanwhile
    assert [f"{file}, line 1: "] == [sentence[: len(str(file)) + 10] for sentence in torn.damaged]
    assert {"gemini-G": 115 + 215} == trace.tokens()
