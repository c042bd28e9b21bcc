"""Every stream of pi in the corpus, read by the adapter and added up independently."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer._account import account
from agent_workflow.tracer.agents import SendOutcome, ToolReturned, Waited
from agent_workflow.tracer.agents._pi_stream import PiStream

pytestmark = pytest.mark.corpus

PARTS = ("input", "output", "cacheRead", "cacheWrite")
# What happened in each: verdict, calls that returned, calls that were cut off, waits.
HAPPENED = {
    "a_success": ("answered", 9, 0, 0),
    "b_retry_500": ("answered", 1, 0, 3),
    "c_kill_int": ("failed", 1, 1, 0),
    "c_kill_kill": ("failed", 1, 1, 0),
    "c_kill_term": ("failed", 1, 1, 0),
    "c_kill_term_midstream": ("failed", 1, 0, 0),
    "d_big_unicode": ("answered", 60, 0, 0),
    "g_fail_400": ("provider_error", 1, 0, 0),
    "h_length": ("cut_off", 0, 0, 0),
    "pipe_slow": ("answered", 60, 0, 0),
    "pipe_term": ("failed", 7, 0, 0),
}


@pytest.fixture(scope="module")
def streams(streams: Path) -> Path:
    """Name the folder of pi's streams."""
    return streams / "pi"


def read(file: Path) -> tuple[SendOutcome, list[Any]]:
    """Read a stream as the tracer does."""
    reader = PiStream(knows_prices=True)
    seen = [
        item for line in file.read_bytes().split(b"\n") for item in reader.read(line, "2026-11-30T00:00:00.000+00:00")
    ]
    code = int(file.with_suffix(".exit").read_text())
    return reader.outcome(code if code < 128 else 128 - code, "2026-11-30T00:00:00.000+00:00"), seen


def cases(streams: Path) -> Iterator[Path]:
    """Return the streams, without the session files beside them."""
    return (file for file in sorted(streams.glob("*.jsonl")) if not file.name.endswith(".session.jsonl"))


def test_every_stream_is_told(streams: Path) -> None:
    """The table of this test names every stream that the corpus has."""
    assert sorted(HAPPENED) == [file.stem for file in cases(streams)]


@pytest.mark.parametrize("case", sorted(HAPPENED))
def test_what_happened(streams: Path, case: str) -> None:
    """The adapter says how each send ended, and which calls returned or were cut off."""
    outcome, seen = read(streams / f"{case}.jsonl")

    returned = [item for item in seen if isinstance(item, ToolReturned)]
    waits = [item for item in seen if isinstance(item, Waited)]
    assert HAPPENED[case] == (outcome.verdict, len(returned), len(outcome.interrupted), len(waits))
    assert ({}, 0) == (outcome.unknown, outcome.damaged)


@pytest.mark.parametrize("case", sorted(HAPPENED))
def test_spend_reconciles(streams: Path, case: str) -> None:
    """Tokens and money are what independent arithmetic over the raw lines gives, in every component and in the sum."""
    outcome, _ = read(streams / f"{case}.jsonl")
    payload, tokens, context = account([outcome])
    expected = by_hand(streams / f"{case}.jsonl")

    assert expected["tokens"] == [
        outcome.usage.input,
        outcome.usage.output,
        outcome.usage.cache_read,
        outcome.usage.cache_write,
    ]
    assert sum(expected["tokens"]) == outcome.usage.total == tokens == payload["usage"]["total_tokens"]
    assert outcome.usage.costs is not None
    assert expected["costs"] == pytest.approx([float(cost) for cost in outcome.usage.costs], abs=1e-12)
    assert sum(outcome.usage.costs) == outcome.usage.total_cost
    assert expected["context"] == context


def by_hand(file: Path) -> dict[str, Any]:
    """Add up the assistant's final messages."""
    tokens, costs, context = [0] * 4, [Decimal(0)] * 4, None
    for line in file.read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message", {})
        if record["type"] != "message_end" or message["role"] != "assistant":
            continue
        usage = message["usage"]
        tokens = [total + usage[part] for total, part in zip(tokens, PARTS, strict=True)]
        costs = [total + Decimal(repr(usage["cost"][part])) for total, part in zip(costs, PARTS, strict=True)]
        if message["stopReason"] not in ("error", "aborted") and sum(usage[part] for part in PARTS):
            context = sum(usage[part] for part in PARTS)
    return {"tokens": tokens, "costs": [float(cost) for cost in costs], "context": context}


def test_text_of_every_script_is_whole(streams: Path) -> None:
    """Line separators inside of strings split nothing: sixty calls in a stream of 2.8 MB, none damaged."""
    outcome, seen = read(streams / "d_big_unicode.jsonl")

    longest = max(len(item.result.encode()) for item in seen if isinstance(item, ToolReturned))
    assert longest >= 200_000
    assert 0 == outcome.damaged
