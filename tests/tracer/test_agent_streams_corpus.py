"""Every stream of the corpus, of every agent, read by its adapter and compared with what is known to have happened."""

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from agent_streams import ROWS, Row

from agent_workflow.tracer.agents import SendOutcome, StreamReader, ToolReturned, recognise
from agent_workflow.tracer.agents._claude_stream import ClaudeStream
from agent_workflow.tracer.agents._codex_stream import CodexStream
from agent_workflow.tracer.agents._gemini_stream import GeminiStream
from agent_workflow.tracer.agents._opencode_stream import OpencodeStream
from agent_workflow.tracer.agents._pi_stream import PiStream

pytestmark = pytest.mark.corpus

AT = "2026-11-30T00:00:00.000+00:00"
NAMES = {"claude": "claude_code"}
# Dollars for a million tokens: input, output, cache read, cache write.
PRICES = {
    "claude": ("5", "25", "0.5", "6.25"),
    "opencode": ("1.25", "10", "0.125", "1.25"),
    "pi": ("1.25", "10", "0.125", "1.25"),
}
OWN_FILES = {
    "claude": ("transcript", "some-project/{id}.jsonl"),
    "codex": ("rollout", "2026/11/30/rollout-2026-11-30T07-21-02-{id}.jsonl"),
    "gemini": ("session", "some-project/chats/session-2026-11-30T07-24-{id:.8}.jsonl"),
}


def cases(streams: Path) -> Iterator[str]:
    """Name the streams, without the tools' own files beside them."""
    for file in streams.glob("*/*.jsonl"):
        if "." not in file.stem:
            yield f"{file.parent.name}/{file.stem}"


def reader_of(case: str, stream: Path, home: Path | None) -> StreamReader:
    """Make the reader of a stream; with a home, that has the tool's own file."""
    agent = case.partition("/")[0]
    if home is not None and agent in OWN_FILES:
        kind, name = OWN_FILES[agent]
        own = stream.with_suffix(f".{kind}.jsonl")
        if own.exists():
            place = home / name.format(id=session_of(stream))
            place.parent.mkdir(parents=True)
            shutil.copy(own, place)
    if agent == "claude":
        return ClaudeStream(home)
    if agent == "codex":
        return CodexStream(home)
    if agent == "gemini":
        reader = GeminiStream(home, stderr=home / "stderr.log" if home else None)
        if home is not None:  # what was printed comes after the reader
            shutil.copy(stream.with_suffix(".stderr"), home / "stderr.log")
        return reader
    return OpencodeStream() if agent == "opencode" else PiStream(knows_prices=True)


def session_of(stream: Path) -> str:
    """Cut the conversation's id out of the first line."""
    first = stream.read_bytes().split(b"\n")[0]
    return next(part.decode() for part in first.split(b'"') if len(part) == 36 and part.count(b"-") == 4)


def read(reader: StreamReader, stream: Path) -> tuple[SendOutcome, list[ToolReturned]]:
    """Read a stream as the tracer does."""
    seen = [item for line in stream.read_bytes().split(b"\n") for item in reader.read(line, AT)]
    seen += reader.complete()
    outcome = reader.outcome(int(stream.with_suffix(".exit").read_text()), AT)
    return outcome, [item for item in seen if isinstance(item, ToolReturned)]


def told(row: Row, outcome: SendOutcome, calls: list[ToolReturned], error: str) -> dict[str, Any]:
    """Put what the adapter says into the words of the table; of its error, whether the expected part is in it."""
    tools = [f"{call.tool}{'+' if call.ok else '-'}{duration(call)}" for call in calls]
    tools += [f"{call.tool}~" for call in outcome.interrupted]
    usage = outcome.usage
    return {
        "verdict": outcome.verdict,
        "error": error in outcome.error if error else outcome.error,
        "stop": outcome.stop_reason,
        "model": outcome.model,
        "tools": f"*{len(tools)}" if row.tools.startswith("*") else " ".join(tools),
        "tokens": (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total),
        "reasoning": usage.reasoning or 0,
        "known": outcome.usage_known,
        "cost": usage.total_cost,
        "basis": outcome.cost_basis,
        "context": outcome.context_tokens,
        "window": outcome.context_window,
        "session": outcome.session_id[: len(row.session)],
        "denied": " ".join(denial.tool for denial in outcome.denials),
        "retries": outcome.retries,
        "turns": outcome.turns,
        "unknown": dict(outcome.unknown),
        "damaged": outcome.damaged,
    }


def duration(call: ToolReturned) -> str:
    """Write the agent's own milliseconds, if it told them."""
    return "" if call.duration_ms is None else f"{call.duration_ms:g}"


def spent(agent: str, call: int) -> tuple[int, int, int, int]:
    """Say what a model call took: fresh, given, from the cache, to the cache."""
    return 100 + 10 * call, 50 + call + (20 if agent == "gemini" else 0), 1000 * call, 500 * (agent == "claude")


def expected(case: str, row: Row) -> dict[str, Any]:
    """Work out what the table says."""
    agent = case.partition("/")[0]
    parts = [sum(column) for column in zip((0,) * 4, *(spent(agent, n) for n in range(row.calls)), strict=True)]
    is_priced = agent in PRICES and not (agent == "claude" and row.known != "whole")
    cost = None
    if is_priced:
        cost = sum(
            (part * Decimal(price) / 1_000_000 for part, price in zip(parts, PRICES[agent], strict=True)), Decimal(0)
        )
    return {
        "verdict": row.verdict,
        "error": True if row.error else "",
        "stop": row.stop,
        "model": row.model,
        "tools": row.tools,
        "tokens": (*parts, sum(parts)),
        "reasoning": 0 if agent == "claude" else 20 * row.calls,
        "known": row.known,
        "cost": cost,
        "basis": "agent_reported" if is_priced else "none",
        "context": sum(spent(agent, row.calls - 1)) if row.calls else None,
        "window": row.window,
        "session": row.session,
        "denied": row.denied,
        "retries": row.retries,
        "turns": row.calls if row.turns is None else row.turns,
        "unknown": {},
        "damaged": row.damaged,
    }


def expected_alone(case: str, row: Row) -> dict[str, Any]:
    """Work out what a stream tells without the tool's own file."""
    agent = case.partition("/")[0]
    whole = expected(case, row)
    lacking: dict[str, Any] = {}
    if agent == "claude" and row.calls and not row.alone.get("is_final"):
        lacking["context"] = whole["context"] - spent(agent, row.calls - 1)[1]
        if row.known == "partial":  # each message has told a provisional token of its output
            fresh, _, read, written, _ = whole["tokens"]
            lacking["tokens"] = (fresh, row.calls, read, written, fresh + row.calls + read + written)
    if agent in ("codex", "gemini"):
        lacking |= {"context": None, "turns": None}
    if agent == "codex":
        lacking |= {"model": "", "window": None}
    if row.alone.get("known") == "unknown":
        lacking |= {"tokens": (0,) * 5, "reasoning": 0}
    told_otherwise = {key: value for key, value in row.alone.items() if key in whole}
    return {**whole, **lacking, **told_otherwise, "error": whole["error"]}


def test_every_stream_is_in_the_table(streams: Path) -> None:
    """The table says what happened for each stream that the corpus has."""
    assert sorted(ROWS) == sorted(cases(streams))


@pytest.mark.parametrize("case", ROWS)
def test_what_happened(streams: Path, tmp_path: Path, case: str) -> None:
    """The adapter says exactly what the table says, with the tool's own file where there is one."""
    row, stream = ROWS[case], streams / f"{case}.jsonl"
    outcome, calls = read(reader_of(case, stream, tmp_path), stream)

    has_own = any(stream.with_suffix(f".{kind}.jsonl").exists() for kind in ("transcript", "rollout", "session"))
    wanted = expected(case, row) if has_own or case.startswith("opencode") else expected_alone(case, row)
    assert wanted == told(row, outcome, calls, row.error)


@pytest.mark.parametrize("case", [case for case in ROWS if not case.startswith(("opencode", "pi"))])
def test_what_a_stream_alone_tells(streams: Path, case: str) -> None:
    """Without the tool's own file nothing fails, and what is lacking is unknown, not zero."""
    row, stream = ROWS[case], streams / f"{case}.jsonl"
    outcome, calls = read(reader_of(case, stream, None), stream)

    assert expected_alone(case, row) == told(row, outcome, calls, row.alone.get("error", row.error))
    assert outcome.own_record is None


@pytest.mark.parametrize("case", ROWS)
def test_agent_is_recognised(streams: Path, case: str) -> None:
    """The first line is enough to know the agent, even behind a warning."""
    agent = case.partition("/")[0]
    first = (streams / f"{case}.jsonl").read_bytes().split(b"\n")[0]

    assert NAMES.get(agent, agent) == recognise(first + b"\n") == recognise(b"warning: odd\n" + first + b'\n{"cut')


@pytest.mark.parametrize("case", ["claude/basic", "codex/basic", "gemini/basic"])
def test_own_file_of_another_conversation_is_left_alone(streams: Path, tmp_path: Path, case: str) -> None:
    """A file that merely bears the name tells nothing of this send."""
    row, stream = ROWS[case], streams / f"{case}.jsonl"
    reader = reader_of(case, stream, tmp_path)
    own = next(file for file in tmp_path.rglob("*.jsonl") if file.is_file())
    own.write_bytes(b'{"type":"assistant","uuid":"other","message":{"id":"x","usage":{"input_tokens":9}}}\n')
    outcome, _ = read(reader, stream)

    assert expected_alone(case, row)["tokens"] == told(row, outcome, [], "")["tokens"]
    assert expected_alone(case, row)["context"] == outcome.context_tokens
