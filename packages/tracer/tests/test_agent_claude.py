"""Claude Code's stream and transcript, quirk by quirk."""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer.agents import Compacted, SendOutcome, ToolReturned, Waited
from agent_workflow.tracer.agents._claude_stream import ClaudeStream

AT = "2026-11-30T00:00:00.000+00:00"
SESSION = "1b1c60c2-0b2f-4f86-8c4e-0f0c4c3f7a11"
MODEL = "claude-test-1"
INIT = {"type": "system", "subtype": "init", "session_id": SESSION, "model": f"{MODEL}[1m]"}


def usage(fresh: int, given: int, read: int = 0, written: int = 0) -> dict[str, int]:
    """Make the usage of a message or a result."""
    return {
        "input_tokens": fresh,
        "output_tokens": given,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }


def block(message: str, content: dict[str, Any], *, spent: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """Make the line of one block of a message."""
    body = {"id": message, "model": MODEL, "content": [content], "usage": spent or usage(10, 1), "stop_reason": None}
    head = {"type": "assistant", "session_id": SESSION, "uuid": f"{message}/{content.get('type')}"}
    return {**head, "message": body, "parent_tool_use_id": None, **more}


def text(words: str) -> dict[str, Any]:
    """Make a block of text."""
    return {"type": "text", "text": words}


def tool(call_id: str, name: str = "Bash", kind: str = "tool_use") -> dict[str, Any]:
    """Make a block that calls a tool."""
    return {"type": kind, "id": call_id, "name": name, "input": {"command": "ls"}}


def returned(call_id: str, *, fails: bool = False, parent: str | None = None, **about: Any) -> dict[str, Any]:
    """Make the line with which a tool comes back."""
    content = [{"type": "tool_result", "tool_use_id": call_id, "content": "out", "is_error": fails}]
    line = {"type": "user", "session_id": SESSION, "message": {"content": content}, "parent_tool_use_id": parent}
    return {**line, "tool_use_result": about}


def result(**changes: Any) -> dict[str, Any]:
    """Make the line with which a send ends."""
    models = {f"{MODEL}[1m]": {"inputTokens": 10, "outputTokens": 50, "costUSD": 0.5, "contextWindow": 1_000_000}}
    told = {"is_error": False, "result": "done", "stop_reason": "end_turn", "total_cost_usd": 0.5}
    head = {"type": "result", "subtype": "success", "session_id": SESSION, "usage": usage(10, 50), "modelUsage": models}
    return {**head, **told, "permission_denials": [], **changes}


def refusal(error: str, words: str) -> dict[str, Any]:
    """Make the message that Claude Code writes itself when the model's answer did not come."""
    body = {"id": "own", "model": "<synthetic>", "content": [text(words)], "usage": usage(0, 0)}
    return {"type": "assistant", "session_id": SESSION, "error": error, "message": body}


def play(*records: Any, code: int = 0, projects: Path | None = None) -> tuple[SendOutcome, list[Any]]:
    """Feed records (or raw lines) and return what came of them."""
    reader = ClaudeStream(projects)
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    seen = [item for line in lines for item in reader.read(line, AT)]
    seen += reader.complete()
    return reader.outcome(code, AT), seen


def transcript(projects: Path, *records: dict[str, Any], name: str = SESSION) -> Path:
    """Write a transcript as Claude Code keeps it."""
    file = projects / "-some-repository" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def final(line: dict[str, Any], given: int, stop: str = "end_turn") -> dict[str, Any]:
    """Make the transcript's line of a streamed one: the same, but with its final usage."""
    message = {**line["message"], "usage": {**line["message"]["usage"], "output_tokens": given}, "stop_reason": stop}
    return {**line, "message": message}


def test_blocks_of_one_message_count_once() -> None:
    """Each block repeats the message's usage; the send costs what its result says."""
    outcome, _ = play(INIT, block("m1", text("a")), block("m1", tool("t1")), returned("t1"), result())

    assert ("answered", 1, 60, Decimal("0.5")) == (
        outcome.verdict,
        outcome.turns,
        outcome.usage.total,
        outcome.usage.total_cost,
    )
    assert ("done", SESSION, MODEL, 1_000_000) == (
        outcome.text,
        outcome.session_id,
        outcome.model,
        outcome.context_window,
    )


def test_last_usage_of_a_message_wins() -> None:
    """Where there is no result, the newest usage of each message counts, as far as it is known."""
    outcome, _ = play(INIT, block("m1", text("a")), block("m1", tool("t1"), spent=usage(10, 7)), code=-9)

    assert ("failed", 17, "partial", "none") == (
        outcome.verdict,
        outcome.usage.total,
        outcome.usage_known,
        outcome.cost_basis,
    )
    assert ["t1"] == [call.tool_call_id for call in outcome.interrupted]


@pytest.mark.parametrize(
    ("records", "code", "verdict", "stop"),
    [
        ([result()], 0, "answered", "end_turn"),
        ([result()], 1, "failed", "end_turn"),
        ([result(stop_reason="max_tokens")], 0, "cut_off", "max_tokens"),
        ([refusal("server_error", "500"), result(is_error=True, result="500")], 1, "provider_error", "server_error"),
        ([refusal("unknown", "400"), result(is_error=True, result="400")], 1, "provider_error", ""),
        (
            [refusal("max_output_tokens", "long"), result(is_error=True, result="long")],
            1,
            "cut_off",
            "max_output_tokens",
        ),
        ([result(is_error=True, result="odd")], 0, "provider_error", "end_turn"),
        ([result(subtype="error_max_turns", is_error=True, errors=["2"])], 1, "failed", "error_max_turns"),
        (
            [result(subtype="error_during_execution", terminal_reason="aborted_tools")],
            1,
            "aborted",
            "error_during_execution",
        ),
        ([refusal("overloaded", "529")], -9, "provider_error", ""),
        ([result(), INIT], 0, "incomplete", ""),
        ([], 0, "incomplete", ""),
        ([], -15, "failed", ""),
    ],
)
def test_verdict(records: list[Any], code: int, verdict: str, stop: str) -> None:
    """How a send ended is told by its result's ``is_error``, not by subtype and exit code."""
    outcome, _ = play(INIT, *records, code=code)

    assert (verdict, stop) == (outcome.verdict, outcome.stop_reason)
    assert bool(outcome.error) == (verdict != "answered")


def test_agent_that_is_woken_again() -> None:
    """A background task adds a second result: the last one says how it ended and what all of it cost."""
    models = {MODEL: {"inputTokens": 30, "outputTokens": 70}}
    second = result(usage=usage(20, 20), modelUsage=models, total_cost_usd=0.75, result="woken")
    outcome, _ = play(INIT, block("m1", text("a")), result(), INIT, block("m2", text("b")), second)

    assert (100, Decimal("0.75"), "woken") == (outcome.usage.total, outcome.usage.total_cost, outcome.text)


def test_agent_that_is_woken_again_and_cut_off() -> None:
    """What its last result told is a lower bound: it has called the model since."""
    outcome, _ = play(INIT, block("m1", text("a")), result(), INIT, block("m2", text("b")), code=-9)

    assert ("failed", "partial", 60) == (outcome.verdict, outcome.usage_known, outcome.usage.total)


def test_denials_of_a_run_without_a_result() -> None:
    """A result lists what was not allowed; where there is none, the words that came back tell it."""
    refused = returned("t", fails=True)
    words = "Claude requested permissions to write to /x, but you haven't granted it yet."
    refused["message"]["content"][0]["content"] = words
    listed = result(permission_denials=[{"tool_name": "Write", "tool_use_id": "t"}])
    outcomes = [play(INIT, block("m1", tool("t", "Write")), refused, *end)[0] for end in ([], [listed], [result()])]

    told = [[(one.tool, one.tool_call_id, one.reason) for one in outcome.denials] for outcome in outcomes]
    assert [[("Write", "t", words)], [("Write", "t", words)], []] == told


def test_subagent_is_counted_once_and_known_by_its_parent() -> None:
    """What a sub-agent spent is part of the whole and told apart; its calls name the call that began it."""
    models = {MODEL: {"inputTokens": 30, "outputTokens": 70}}
    outcome, seen = play(
        INIT,
        block("m1", tool("task", "Task")),
        block("s1", tool("t2"), parent_tool_use_id="task"),
        returned("t2", parent="task"),
        returned("task"),
        result(modelUsage=models),
    )

    assert [("Bash", "task"), ("Task", "")] == [(call.tool, call.parent_call_id) for call in seen]
    assert outcome.subagents is not None
    assert (100, 40, 1) == (outcome.usage.total, outcome.subagents.total, outcome.turns)
    assert 10 == outcome.context_tokens


def test_tools_that_run_at_the_provider() -> None:
    """A server's tool is called and returns within one message."""
    back = {"type": "web_search_tool_result", "tool_use_id": "w", "content": []}
    _, seen = play(INIT, block("m1", tool("w", "web_search", "server_tool_use")), block("m1", back), result())

    assert [("web_search", True)] == [(call.tool, call.ok) for call in seen]


def test_duration_only_where_the_tool_told_it() -> None:
    """Some tools tell how long they took; for the others nobody knows."""
    _, seen = play(
        INIT,
        block("m1", tool("a")),
        block("m1", tool("b")),
        returned("a", durationMs=12),
        returned("b", fails=True),
        result(),
    )

    assert [(12.0, True), (None, False)] == [(call.duration_ms, call.ok) for call in seen]


def test_waits_denials_and_compaction() -> None:
    """Retries are waits, denials come with the result, and after compaction nobody knows the context."""
    retry = {"type": "system", "subtype": "api_retry", "session_id": SESSION, "attempt": 1, "error": "overloaded"}
    compact = {"type": "system", "subtype": "compact_boundary", "compact_metadata": {"trigger": "auto"}}
    denials = [{"tool_name": "Write", "tool_use_id": "t", "tool_input": {}}]
    outcome, seen = play(INIT, retry, block("m1", text("a")), compact, result(permission_denials=denials))

    assert [Waited("api_retry", {"attempt": 1, "error": "overloaded"}), Compacted({"trigger": "auto"}, None)] == seen
    assert (1, ["Write"], None) == (
        outcome.retries,
        [denial.tool for denial in outcome.denials],
        outcome.context_tokens,
    )


def test_partial_messages_tell_the_final_usage() -> None:
    """Where the model's own events are streamed, they have the true output and stop reason."""
    start = {"type": "message_start", "message": {"id": "m1"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 50}}
    events = [{"type": "stream_event", "session_id": SESSION, "event": event} for event in (start, end)]
    outcome, _ = play(INIT, events[0], block("m1", tool("t")), events[1], block("m1", tool("u")), code=-9)

    assert (60, 60, "tool_use") == (outcome.usage.total, outcome.context_tokens, outcome.stop_reason)


def test_transcript_completes_a_killed_run(tmp_path: Path) -> None:
    """The transcript has the output that the stream lacks, also of messages that the stream no longer told."""
    first, second = block("m1", text("a")), block("m2", tool("t"))
    file = transcript(tmp_path, final(first, 50), final(second, 60, "tool_use"))
    outcome, _ = play(INIT, first, code=-9, projects=tmp_path)

    assert ((20, 110), 70, "tool_use", file) == (
        (outcome.usage.input, outcome.usage.output),
        outcome.context_tokens,
        outcome.stop_reason,
        outcome.own_record,
    )


def test_transcript_of_a_compacted_conversation(tmp_path: Path) -> None:
    """The transcript's older messages do not bring back a context that was given up."""
    compact = {"type": "system", "subtype": "compact_boundary", "session_id": SESSION}
    first, second = block("m1", text("a")), block("m2", text("b"))
    transcript(tmp_path, final(first, 50), final(second, 60))
    given_up, _ = play(INIT, first, second, compact, projects=tmp_path)
    known, _ = play(INIT, first, compact, second, projects=tmp_path)

    assert (None, 70) == (given_up.context_tokens, known.context_tokens)


def test_message_that_was_killed_while_it_was_written(tmp_path: Path) -> None:
    """A message without a stop reason counts as far as it is known, and its output is no part of the context."""
    started = final(block("m2", text("b"), spent=usage(30, 1)), 3, stop="")
    transcript(tmp_path, final(block("m1", text("a")), 50), started)
    outcome, _ = play(INIT, block("m1", text("a")), code=-9, projects=tmp_path)

    assert (40, 53, 30, "") == (
        outcome.usage.input,
        outcome.usage.output,
        outcome.context_tokens,
        outcome.stop_reason,
    )


def test_transcript_of_a_resumed_conversation(tmp_path: Path) -> None:
    """Messages of earlier sends come first in the file and are none of ours."""
    transcript(tmp_path, final(block("old", text("x")), 900), final(block("m1", text("a")), 50))
    outcome, _ = play(INIT, block("m1", text("a")), code=-9, projects=tmp_path)

    assert (60, 1) == (outcome.usage.total, outcome.turns)


@pytest.mark.parametrize("is_known", [True, False])
def test_transcript_that_has_the_same_message_before(tmp_path: Path, is_known: bool) -> None:
    """Where it is known which conversation goes on, what its transcript had before is not even read."""
    old, new = block("old", text("x")), block("m1", text("a"))
    file = transcript(tmp_path, final({**old, "uuid": new["uuid"]}, 900))
    reader = ClaudeStream(tmp_path, session_id=SESSION if is_known else "")
    with file.open("a") as opened:
        opened.write(json.dumps(final(new, 50)) + "\n")
    for record in (INIT, new):
        list(reader.read(json.dumps(record).encode(), AT))
    list(reader.complete())

    assert (60 if is_known else 970) == reader.outcome(-9, AT).usage.total


def test_transcript_that_was_replaced(tmp_path: Path) -> None:
    """A file that is shorter than before is another one, and read from its beginning."""
    file = transcript(tmp_path, *[final(block(f"old{n}", text("x")), 900) for n in range(5)])
    reader = ClaudeStream(tmp_path, session_id=SESSION)
    line = block("m1", text("a"))
    file.write_text(json.dumps(final(line, 50)) + "\n")
    for record in (INIT, line):
        list(reader.read(json.dumps(record).encode(), AT))
    list(reader.complete())

    assert 60 == reader.outcome(-9, AT).usage.total


def test_transcript_of_a_subagent(tmp_path: Path) -> None:
    """A sub-agent has a transcript of its own; one that another send began is none of ours."""
    main, nested = block("m1", tool("task", "Task")), block("s1", text("x"), parent_tool_use_id="task")
    file = transcript(tmp_path, final(main, 50))
    for name, call in (("agent-1", "task"), ("agent-2", "elsewhere")):
        record = final({**nested, "isSidechain": True}, 70)
        record["message"]["id"] = f"s{name[-1]}"
        folder = file.parent / SESSION / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
        (folder / f"{name}.meta.json").write_text(json.dumps({"toolUseId": call}, indent=2))
    outcome, _ = play(INIT, main, nested, code=-9, projects=tmp_path)

    assert outcome.subagents is not None
    assert (140, 80) == (outcome.usage.total, outcome.subagents.total)


def test_torn_and_damaged_transcript(tmp_path: Path) -> None:
    """Lines that are no records are passed over, and a torn tail is left for its writer."""
    file = transcript(tmp_path, final(block("m1", text("a")), 50))
    file.write_bytes(b'"assistant"\xff\n' + file.read_bytes() + b'{"type":"assistant","message":{"id":"m2"')
    outcome, _ = play(INIT, block("m1", text("a")), code=-9, projects=tmp_path)

    assert 60 == outcome.usage.total


def test_pipe_in_the_place_of_a_transcript(tmp_path: Path) -> None:
    """Something that is no file does not hold anybody up."""
    folder = tmp_path / "p"
    folder.mkdir()
    os.mkfifo(folder / f"{SESSION}.jsonl")
    outcome, _ = play(INIT, block("m1", text("a")), code=-9, projects=tmp_path)

    assert 11 == outcome.usage.total


@pytest.mark.parametrize("name", ["../../secret", "*", "", "a/b"])
def test_id_that_could_be_a_path(tmp_path: Path, name: str) -> None:
    """An id that could lead elsewhere finds no transcript."""
    transcript(tmp_path, final(block("m1", text("a")), 50), name="secret")
    line = {**block("m1", text("a")), "session_id": name}
    outcome, _ = play(line, code=-9, projects=tmp_path / "-some-repository")

    assert outcome.own_record is None


def test_unknown_events_and_damaged_lines_are_counted() -> None:
    """What is not understood is counted by type, and a line that is cut is counted too."""
    new = {"type": "system", "subtype": "brand_new"}
    outcome, seen = play(INIT, new, {"type": "novel"}, b'{"cut', block("m1", text("a\u2028b")), result())

    assert ({"system/brand_new": 1, "novel": 1}, 1) == (outcome.unknown, outcome.damaged)
    assert not [item for item in seen if isinstance(item, ToolReturned)]
