"""What holds for the readers of all coding agents."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer.agents import StreamReader, recognise
from agent_workflow.tracer.agents._claude_stream import ClaudeStream
from agent_workflow.tracer.agents._codex_stream import CodexStream
from agent_workflow.tracer.agents._gemini_stream import GeminiStream
from agent_workflow.tracer.agents._opencode_stream import OpencodeStream
from agent_workflow.tracer.agents._pi_stream import PiStream

AT = "2026-11-30T00:00:00.000+00:00"
READERS: dict[str, Callable[[], StreamReader]] = {
    "claude_code": ClaudeStream,
    "codex": CodexStream,
    "gemini": GeminiStream,
    "opencode": OpencodeStream,
    "pi": lambda: PiStream(knows_prices=True),
}
TYPES = [
    "system",
    "assistant",
    "user",
    "result",
    "stream_event",
    "thread.started",
    "turn.started",
    "turn.completed",
    "turn.failed",
    "error",
    "item.started",
    "item.completed",
    "init",
    "message",
    "tool_use",
    "tool_result",
    "step_start",
    "step_finish",
    "text",
    "message_end",
    "session",
    "novel",
]
KEYS = [
    "subtype",
    "session_id",
    "sessionID",
    "uuid",
    "model",
    "message",
    "id",
    "content",
    "type",
    "text",
    "name",
    "input",
    "usage",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "stop_reason",
    "tool_use_id",
    "is_error",
    "parent_tool_use_id",
    "event",
    "delta",
    "modelUsage",
    "contextWindow",
    "errors",
    "total_cost_usd",
    "permission_denials",
    "error",
    "result",
    "item",
    "status",
    "exit_code",
    "changes",
    "path",
    "thread_id",
    "role",
    "tool_id",
    "tool_name",
    "timestamp",
    "stats",
    "total_tokens",
    "cached",
    "models",
    "severity",
    "part",
    "callID",
    "state",
    "time",
    "start",
    "end",
    "metadata",
    "exit",
    "tokens",
    "cache",
    "read",
    "write",
    "reasoning",
    "cost",
    "reason",
    "messageID",
    "data",
    "aggregated_output",
]
WORDS = [
    "assistant",
    "tool_use",
    "tool_result",
    "text",
    "init",
    "api_retry",
    "<synthetic>",
    "command_execution",
    "success",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)
RECORDS = st.lists(
    st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6)), max_size=8
)


@pytest.mark.parametrize("agent", READERS)
@pytest.mark.parametrize("kind", [["list"], {"object": 1}, None, 7, True])
def test_type_that_is_no_word(agent: str, kind: object) -> None:
    """A record whose type, or what it is about, has a type of another kind is one that nobody knows."""
    reader = READERS[agent]()
    for record in (
        {"type": kind},
        {"type": "system", "subtype": kind},
        {"type": "item.started", "item": {"type": kind}},
        {"type": "item.completed", "item": {"type": kind}},
    ):
        list(reader.read(json.dumps(record).encode(), AT))

    assert str(kind) in reader.outcome(0, AT).unknown


@pytest.mark.parametrize("agent", READERS)
@given(records=RECORDS)
def test_no_stream_can_stop_a_reader(agent: str, records: list[Any]) -> None:
    """Whatever a stream holds, reading goes on, and what is summed up can be written."""
    reader = READERS[agent]()
    for kind, fields in records:
        list(reader.read(json.dumps({**fields, "type": kind}).encode(), AT))
    list(reader.complete())
    outcome = reader.outcome(0, AT)

    assert outcome.usage.total >= 0
    assert json.dumps(outcome.usage.payload(), allow_nan=False)


OWN_FILES = {
    "claude_code": "some-project/s-1.jsonl",
    "codex": "2026/11/30/rollout-x-s-1.jsonl",
    "gemini": "some-project/chats/session-x-s-1.jsonl",
}
OWN_TYPES = [
    "assistant",
    "gemini",
    "event_msg",
    "response_item",
    "turn_context",
    "token_usage_record",
    "task_started",
    "token_count",
    "turn_aborted",
    "item_completed",
    "function_call",
    "function_call_output",
]
OWN_KEYS = [
    "payload",
    "info",
    "arguments",
    "output",
    "call_id",
    "toolCalls",
    "functionResponse",
    "response",
    "thoughts",
    "isSidechain",
    "total_token_usage",
    "last_token_usage",
    "model_context_window",
    *KEYS,
]


@pytest.mark.parametrize("agent", OWN_FILES)
@given(
    records=st.lists(
        st.dictionaries(st.sampled_from(OWN_KEYS), JSON | st.sampled_from(OWN_TYPES), max_size=8)
        | st.fixed_dictionaries({"type": st.sampled_from(OWN_TYPES), "payload": JSON, "message": JSON, "id": JSON}),
        max_size=8,
    ),
    tail=st.binary(max_size=20),
)
def test_no_file_of_an_agent_can_stop_a_reader(
    agent: str, records: list[Any], tail: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever an agent's own file holds, completing goes on, and what is summed up can be written."""
    folder = tmp_path_factory.mktemp("own")
    file = folder / OWN_FILES[agent]
    file.parent.mkdir(parents=True)
    head = json.dumps({"sessionId": "s-1", "type": "assistant", "uuid": "u"}).encode()
    file.write_bytes(b"\n".join([head, *(json.dumps(record).encode() for record in records), tail]))
    readers: dict[str, StreamReader] = {
        "claude_code": ClaudeStream(folder),
        "codex": CodexStream(folder),
        "gemini": GeminiStream(folder),
    }
    reader = readers[agent]
    first = {"session_id": "s-1", "thread_id": "s-1", "uuid": "u", "message": {}}
    kind = {"claude_code": "assistant", "codex": "thread.started", "gemini": "init"}[agent]
    list(reader.read(json.dumps({**first, "type": kind}).encode(), AT))
    seen = list(reader.complete())
    outcome = reader.outcome(0, AT)

    assert outcome.own_record == file
    assert json.dumps([outcome.usage.payload(), [str(item) for item in seen]], allow_nan=False)


@pytest.mark.parametrize("agent", READERS)
def test_damage_is_counted(agent: str) -> None:
    """Lines that are no records, or that nest absurdly, are counted and passed over; empty ones are nothing."""
    reader = READERS[agent]()
    for line in (b"", b"  ", b"not json", b'{"type":"x","a":NaN}', b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 100_000):
        assert [] == list(reader.read(line, AT))

    assert (5, "incomplete") == (reader.outcome(0, AT).damaged, reader.outcome(0, AT).verdict)


@pytest.mark.parametrize("agent", READERS)
def test_empty_stream(agent: str) -> None:
    """A send that said nothing has no session to go on with, whatever its exit code."""
    outcome = READERS[agent]().outcome(-9, AT)

    assert ("failed", "ended by signal 9", False, "") == (
        outcome.verdict,
        outcome.error,
        outcome.resumable,
        outcome.session_id,
    )
    assert outcome.usage_known != "whole"


FIRST = {
    "claude_code": {"type": "system", "subtype": "init", "session_id": "s"},
    "codex": {"type": "thread.started", "thread_id": "t"},
    "pi": {"type": "session", "version": 3, "id": "p", "cwd": "/"},
    "gemini": {"type": "init", "timestamp": "2026-11-30T07:24:53.731Z", "session_id": "s", "model": "m"},
    "opencode": {"type": "step_start", "timestamp": 1, "sessionID": "ses_1", "part": {}},
}


@pytest.mark.parametrize("agent", FIRST)
def test_agent_is_recognised(agent: str) -> None:
    """One line of its stream is enough, also behind lines that are something else."""
    line = json.dumps(FIRST[agent]).encode()

    assert agent == recognise(line) == recognise(b"a warning\n[1]\n" + line + b"\n") == recognise(line + b'\n{"type":')


@pytest.mark.parametrize("lines", [b"", b"hello\n", b'{"type":"init"}\n', b'{"type":"session"}', b'{"session_id":"x"}'])
def test_stranger_is_not_recognised(lines: bytes) -> None:
    """Output that bears nobody's marks is nobody's."""
    assert recognise(lines) is None


def test_line_that_is_not_whole_yet() -> None:
    """A cut line tells nothing, and the next look at more of it does."""
    line = json.dumps(FIRST["codex"]).encode()

    assert (None, "codex") == (recognise(line[:-3]), recognise(line))


@pytest.mark.parametrize("agent", ["claude_code", "codex", "gemini"])
def test_folder_that_cannot_be_read(agent: str, tmp_path: Path) -> None:
    """Where the agent's own files are not to be had, the stream alone counts."""
    missing = tmp_path / "nowhere"
    readers: dict[str, StreamReader] = {
        "claude_code": ClaudeStream(missing),
        "codex": CodexStream(missing, thread="t", counted={"input": 1}),
        "gemini": GeminiStream(missing),
    }
    reader = readers[agent]
    list(reader.read(json.dumps(FIRST[agent]).encode(), AT))

    assert [] == list(reader.complete())
    assert reader.outcome(0, AT).own_record is None
