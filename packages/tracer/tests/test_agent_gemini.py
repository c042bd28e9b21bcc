"""gemini-cli's stream and session file, quirk by quirk."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer.agents import SendOutcome, ToolReturned, Waited
from agent_workflow.tracer.agents._gemini_stream import GeminiStream

AT = "2026-11-30T00:00:00.000+00:00"
SESSION = "84d2c99a-4b39-4848-ae80-850620741fa8"
INIT = {"type": "init", "session_id": SESSION, "model": "model-1"}
SHELL = "run_shell_command"


def said(text: str) -> dict[str, Any]:
    """Make a piece of a message of the model."""
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def tool(call_id: str, name: str = SHELL, second: str = "00.000") -> dict[str, Any]:
    """Make the beginning of a call."""
    stamp = f"2026-11-30T07:00:{second}Z"
    return {"type": "tool_use", "tool_name": name, "tool_id": call_id, "parameters": {}, "timestamp": stamp}


def returned(call_id: str, status: str = "success", second: str = "00.060", **more: Any) -> dict[str, Any]:
    """Make the end of a call."""
    stamp = f"2026-11-30T07:00:{second}Z"
    return {"type": "tool_result", "tool_id": call_id, "status": status, "output": "out", "timestamp": stamp, **more}


def result(status: str = "success", **more: Any) -> dict[str, Any]:
    """Make the end of a send."""
    stats = {"total_tokens": 1351, "input_tokens": 1210, "output_tokens": 101, "cached": 1000, "models": {"m": {}}}
    return {"type": "result", "status": status, "stats": stats, **more}


def message(identity: str, *, tokens: bool = True, exit_code: str = "", call_id: str = "t") -> dict[str, Any]:
    """Make the line of a message in a session file."""
    spent = {"input": 1110, "output": 51, "cached": 1000, "thoughts": 20, "tool": 0, "total": 1181}
    line: dict[str, Any] = {"id": identity, "type": "gemini", "model": "model-2"}
    if tokens:
        line["tokens"] = spent
    if exit_code:
        output = {"output": f"Output: x\n{exit_code}\nProcess Group PGID: 7"}
        line["toolCalls"] = [{"id": call_id, "name": SHELL, "result": [{"functionResponse": {"response": output}}]}]
    return line


def session(chats: Path, *lines: dict[str, Any], append: bool = False, identity: str = SESSION) -> Path:
    """Write a session file as gemini-cli keeps it."""
    file = chats / "some-project/chats" / f"session-2026-11-30T07-24-{SESSION[:8]}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = [] if append else [{"sessionId": identity, "kind": "main"}]
    with file.open("a" if append else "w") as opened:
        opened.writelines(json.dumps(line) + "\n" for line in [*head, *lines])
    return file


def play(*records: Any, code: int = 0, reader: GeminiStream | None = None) -> tuple[SendOutcome, list[Any]]:
    """Feed records and return what came of them."""
    reader = reader or GeminiStream()
    seen = [item for record in records for item in reader.read(json.dumps(record).encode(), AT)]
    seen += reader.complete()
    return reader.outcome(code, AT), seen


def test_thinking_is_in_the_total_alone() -> None:
    """Output is told without thinking, which costs as output; the four components sum to the total."""
    outcome, _ = play(INIT, said("All "), said("done."), result())

    usage = outcome.usage
    assert (210, 141, 1000, 0, 40, 1351) == (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.total,
    )
    assert ("answered", "All done.", "m", "none", None) == (
        outcome.verdict,
        outcome.text,
        outcome.model,
        outcome.cost_basis,
        outcome.retries,
    )


def test_reply_is_what_came_after_the_last_call() -> None:
    """Text before a tool call is no part of the reply, and a send without text after it keeps what was said."""
    after, _ = play(INIT, said("Look."), tool("t"), returned("t"), said("Done."), result())
    silent, _ = play(INIT, said("Look."), tool("t"), returned("t"), result())

    assert ("Done.", "Look.") == (after.text, silent.text)


@pytest.mark.parametrize(
    ("records", "code", "verdict", "error"),
    [
        ([result()], 0, "answered", ""),
        ([result()], 1, "failed", "exit code 1"),
        ([], 0, "incomplete", "the stream stopped before its result"),
        ([], 144, "failed", "exit code 144"),
        (
            [result("error", error={"message": '[API Error: {"error":{"code":400,"message":"bad"}}]'})],
            144,
            "provider_error",
            "bad",
        ),
        ([result("error", error={"message": "loop detected"})], 1, "failed", "loop detected"),
        ([{"type": "error", "severity": "error", "message": "turns"}, result()], 0, "failed", "turns"),
    ],
)
def test_verdict(records: list[Any], code: int, verdict: str, error: str) -> None:
    """How a send ended is told by its result; an exit code of 0 without one says nothing."""
    outcome, _ = play(INIT, *records, code=code)

    assert (verdict, error) == (outcome.verdict, outcome.error)


def test_durations_are_between_the_agents_own_times() -> None:
    """The stream's times tell how long each call took, also when they overlap."""
    _, seen = play(
        INIT, tool("a", "x"), tool("b", "y", "00.010"), returned("b", second="00.015"), returned("a"), result()
    )

    assert [("y", 5), ("x", 60)] == [(call.tool, call.duration_ms) for call in seen]
    assert "2026-11-30T07:00:00.010+00:00" == seen[0].started_at


def test_shell_that_failed_as_a_success(tmp_path: Path) -> None:
    """The exit code is in the session file alone: the call is held back until that knows."""
    reader = GeminiStream(tmp_path)
    session(tmp_path, message("m1"))
    begun = [list(reader.read(json.dumps(line).encode(), AT)) for line in (INIT, tool("t"), returned("t"))]
    session(tmp_path, message("m1", exit_code="Exit Code: 3"), append=True)
    released = list(reader.read(json.dumps(said("next")).encode(), AT))

    assert [[], [], []] == begun
    assert [("t", False)] == [(call.tool_call_id, call.ok) for call in released if isinstance(call, ToolReturned)]


@pytest.mark.parametrize("told", ["Exit Code: 0", "no code"])
def test_shell_that_worked(tmp_path: Path, told: str) -> None:
    """A call that was held back comes out as it was told, at the latest at the end."""
    session(tmp_path, message("m1", exit_code=told))
    _, seen = play(INIT, tool("t"), returned("t"), reader=GeminiStream(tmp_path))

    assert [True] == [call.ok for call in seen]


def test_message_that_is_written_again_counts_once(tmp_path: Path) -> None:
    """The session file has a message once more when its tools have returned; a killed send is known by it."""
    file = session(tmp_path, message("m1"), {"$set": {}}, message("m1", exit_code="Exit Code: 1"), message("m2"))
    outcome, _ = play(INIT, said("x"), code=-9, reader=GeminiStream(tmp_path))

    assert (2, 2362, 1181, "partial", "model-2", file) == (
        outcome.turns,
        outcome.usage.total,
        outcome.context_tokens,
        outcome.usage_known,
        outcome.model,
        outcome.own_record,
    )
    assert 40 == outcome.usage.reasoning


def test_session_that_is_resumed(tmp_path: Path) -> None:
    """Messages of earlier sends are none of ours, though they may be written again; nobody need say that it goes on."""
    before, after = "2026-11-30T06:59:59.999Z", "2026-11-30T07:00:00.000Z"
    old, new = {**message("old"), "timestamp": before}, {**message("new"), "timestamp": after}
    session(tmp_path, old)
    reader = GeminiStream(tmp_path)
    session(tmp_path, {**old, **message("old", exit_code="Exit Code: 1", call_id="z")}, new, append=True)
    outcome, _ = play({**INIT, "timestamp": after}, code=-9, reader=reader)

    assert (1, 1181) == (outcome.turns, outcome.usage.total)


def test_session_file_of_another_conversation(tmp_path: Path) -> None:
    """The name has the beginning of the id alone: a file with another whole id is not ours."""
    session(tmp_path, message("m1"), identity=SESSION[:8] + "-other")
    outcome, _ = play(INIT, code=-9, reader=GeminiStream(tmp_path))

    assert (None, "unknown") == (outcome.own_record, outcome.usage_known)


def test_denials_and_warnings() -> None:
    """What a policy forbids is a denial; a warning ends nothing."""
    forbidden = {"type": "policy_violation", "message": "not allowed"}
    warning = {"type": "error", "severity": "warning", "message": "slow"}
    outcome, seen = play(INIT, tool("t"), returned("t", "error", output="", error=forbidden), warning, result())

    assert [("run_shell_command", "not allowed")] == [(denial.tool, denial.reason) for denial in outcome.denials]
    assert Waited("agent_warning", {"severity": "warning", "message": "slow"}) == seen[-1]
    assert ("answered", False) == (outcome.verdict, seen[0].ok)


def test_retries_are_told_on_standard_error_alone(tmp_path: Path) -> None:
    """Those of this send; how often earlier ones were tried again, and words of the model, do not count."""
    stderr = tmp_path / "stderr.log"
    stderr.write_text("Attempt 1 failed with status 500. Retrying with backoff...\n")
    reader = GeminiStream(stderr=stderr)
    with stderr.open("a") as opened:
        opened.write("Attempt 1 failed with status 429. Retrying with backoff... _ApiError\n    at Attempt 9 failed\n")
        opened.write(
            "Attempt 2 failed: Please retry in 1s. Retrying after 1012ms...\nAttempt 3 failed. Max attempts reached\n"
        )
    told, _ = play(INIT, result(), reader=reader)
    without, _ = play(INIT, result(), reader=GeminiStream(stderr=tmp_path / "none.log"))

    assert (2, None) == (told.retries, without.retries)
