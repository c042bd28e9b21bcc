"""Waits for the model provider: open until the model answers, named by closed words."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.cli.supervisor.provider_wait import Reason, observe

Record = dict[str, Any]


def _failed(milliseconds: int) -> Record:
    message = {"role": "assistant", "content": [], "stopReason": "error", "timestamp": milliseconds}
    return {"type": "message_end", "message": message}


def _pi_retry(attempt: int, error: str = "500: server error") -> Record:
    return {"type": "auto_retry_start", "attempt": attempt, "maxAttempts": 3, "delayMs": 2000, "errorMessage": error}


def _claude_retry(attempt: int, status: int | None, error: str) -> Record:
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": attempt,
        "max_retries": 10,
        "error_status": status,
        "error": error,
    }


def _codex_retry(message: str) -> Record:
    return {"type": "error", "message": message}


def _server_error(info: object, message: str = "Reconnecting... 2/5") -> Record:
    error = {"message": message, "codexErrorInfo": info}
    return {"method": "error", "params": {"error": error, "willRetry": True, "threadId": "t", "turnId": "u"}}


PI_AGAIN: list[Record] = [
    {"type": "agent_start"},
    {"type": "turn_start"},
    {"type": "message_start", "message": {"role": "assistant", "stopReason": "error"}},
]
PI_SPEAKS: Record = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "x"}}
CODEX_SPEAKS: Record = {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "x"}}
CLAUDE_SPEAKS: Record = {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}}

OPEN: dict[str, tuple[str, list[Record], tuple[Reason, int | None, int | None]]] = {
    "pi": ("pi", [_failed(0), _pi_retry(1)], ("server_error", 1, 3)),
    "pi, again": ("pi", [_failed(0), _pi_retry(1), *PI_AGAIN, _failed(1), _pi_retry(2)], ("server_error", 2, 3)),
    "pi, trying": ("pi", [_failed(0), _pi_retry(1), *PI_AGAIN, _failed(1)], ("server_error", 1, 3)),
    "pi, no connection": ("pi", [_pi_retry(1, "Connection error.")], ("network", 1, 3)),
    "pi, cut connection": ("pi", [_pi_retry(1, "terminated")], ("network", 1, 3)),
    "pi, too often": ("pi", [_pi_retry(1, '429: {"type":"rate_limit_error"}')], ("rate_limit", 1, 3)),
    "pi, overloaded": ("pi", [_pi_retry(1, '529: {"type":"overloaded_error"}')], ("overloaded", 1, 3)),
    "pi, shortening": (
        "pi",
        [{**_pi_retry(2, "529 overloaded"), "type": "summarization_retry_scheduled"}],
        ("overloaded", 2, 3),
    ),
    "pi, something": ("pi", [_pi_retry(1, "?")], ("unknown", 1, 3)),
    "claude": ("claude", [_claude_retry(2, 500, "server_error")], ("server_error", 2, 10)),
    "claude, overloaded": ("claude", [_claude_retry(1, 529, "overloaded")], ("overloaded", 1, 10)),
    "claude, too often": ("claude", [_claude_retry(1, 429, "rate_limit")], ("rate_limit", 1, 10)),
    "claude, no connection": ("claude", [_claude_retry(4, None, "unknown")], ("network", 4, 10)),
    "claude, not let in": ("claude", [_claude_retry(9, 401, "authentication_failed")], ("unknown", 9, 10)),
    "claude, limit used up": (
        "claude",
        [{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1}}],
        ("rate_limit", None, None),
    ),
    "codex": ("codex", [_codex_retry("Reconnecting... 1/2 (We have high demand.)")], ("overloaded", 1, 2)),
    "codex, no connection": (
        "codex",
        [_codex_retry("Reconnecting... waiting for network (Connection failed: error sending request)")],
        ("network", None, None),
    ),
    "codex, warned meanwhile": (
        "codex",
        [
            _codex_retry("Reconnecting... 1/5 (timed out)"),
            _codex_retry("Falling back from WebSockets to HTTPS transport."),
            {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "a warning"}},
        ],
        ("network", 1, 5),
    ),
    "older codex": (
        "codex",
        [{"id": "1", "msg": {"type": "stream_error", "message": "stream error: 502; retrying 3/5 in 1s…"}}],
        ("server_error", 3, 5),
    ),
    "codex's server": ("codex", [_server_error("serverOverloaded")], ("overloaded", 2, 5)),
    "codex's server, cut": (
        "codex",
        [_server_error({"responseStreamDisconnected": {}}, "cut")],
        ("network", None, None),
    ),
}

CLOSED: dict[str, tuple[str, list[Record]]] = {
    "pi answered": ("pi", [_pi_retry(1), *PI_AGAIN[:2], PI_SPEAKS]),
    "pi's retry ended": ("pi", [_pi_retry(1), {"type": "auto_retry_end", "success": False, "attempt": 1}]),
    "pi shortened": (
        "pi",
        [{**_pi_retry(2), "type": "summarization_retry_scheduled"}, {"type": "summarization_retry_finished"}],
    ),
    "pi settled": ("pi", [_pi_retry(1), {"type": "agent_settled", "aborted": False}]),
    "pi failed for good": ("pi", [_failed(0), {"type": "agent_end", "messages": []}]),
    "claude answered": ("claude", [_claude_retry(1, 500, "server_error"), CLAUDE_SPEAKS]),
    "claude streams": ("claude", [_claude_retry(1, 500, "server_error"), {"type": "stream_event", "event": {}}]),
    "claude gave up": ("claude", [_claude_retry(10, 500, "server_error"), {"type": "result", "is_error": True}]),
    "claude's limit is near": (
        "claude",
        [{"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}}],
    ),
    "codex answered": ("codex", [_codex_retry("Reconnecting... 1/2"), CODEX_SPEAKS]),
    "codex gave up": ("codex", [_codex_retry("Reconnecting... 2/2"), _codex_retry("We have high demand.")]),
    "codex's turn failed": ("codex", [_codex_retry("Reconnecting... 2/2"), {"type": "turn.failed", "error": {}}]),
    "codex says such a word": (
        "codex",
        [{"type": "item.completed", "item": {"type": "agent_message", "text": "Reconnecting... 1/2"}}],
    ),
    "opencode": ("opencode", [{"type": "error", "error": {"data": {"isRetryable": True}}}]),
}


@pytest.mark.parametrize(("agent", "records", "expected"), OPEN.values(), ids=OPEN.keys())
def test_a_stream_ends_in_a_wait(
    agent: str, records: list[Record], expected: tuple[Reason, int | None, int | None]
) -> None:
    """The reason in a closed word, which try is waited for and of how many; of an unknown agent nothing is said."""
    for separators in ((",", ":"), (", ", ": ")):
        wait = observe(agent, _stream(records, separators))

        assert wait is not None
        assert expected == (wait.reason, wait.attempt, wait.of)
    assert observe(None, _stream(records)) is None


@pytest.mark.parametrize(("agent", "records"), CLOSED.values(), ids=CLOSED.keys())
def test_a_stream_does_not_end_in_a_wait(agent: str, records: list[Record]) -> None:
    """The model answered, the agent gave up, or nothing was waited for."""
    assert observe(agent, _stream(records)) is None


def test_pi_tells_since_when() -> None:
    """The first failure of a wait counts, whatever comes after it; one of an earlier wait does not."""
    first, later = 1_700_000_000_000, 1_700_000_009_000
    records = [
        _failed(5),
        _pi_retry(1),
        PI_SPEAKS,
        _failed(first),
        _pi_retry(1),
        *PI_AGAIN,
        _failed(later),
        _pi_retry(2),
    ]

    wait = observe("pi", _stream(records))

    assert wait is not None
    assert datetime.fromtimestamp(first / 1000, UTC) == wait.since
    assert len(_stream(records[:-1])) == wait.position


@pytest.mark.parametrize("stamp", [None, "x", -5, 1e30, True])
def test_a_time_that_is_none_is_left_out(stamp: object) -> None:
    """An absurd time of a record is not known."""
    failed = _failed(0)
    failed["message"]["timestamp"] = stamp

    wait = observe("pi", _stream([failed, _pi_retry(1)]))

    assert wait is not None
    assert wait.since is None


def test_a_torn_last_line_waits() -> None:
    """A record without its newline neither opens a wait nor ends one."""
    data = _stream([_pi_retry(1), PI_SPEAKS])

    assert observe("pi", data) is None
    assert observe("pi", data[:-1]) is not None
    assert observe("pi", _stream([_pi_retry(1)])[:-1]) is None


@given(st.sampled_from(sorted({*OPEN})), st.sampled_from(sorted(CLOSED)), st.integers(0, 10))
def test_the_tail_from_an_answer_on_says_the_same(opened: str, closed: str, padding: int) -> None:
    """What stood before the last answer does not matter: the end of a stream is enough."""
    agent, records, expected = OPEN[opened]
    before = CLOSED[closed][1] * padding if CLOSED[closed][0] == agent else []
    whole, tail = observe(agent, _stream([*before, *records])), observe(agent, _stream(records))

    assert whole is not None
    assert tail is not None
    assert (tail.reason, tail.attempt, tail.of) == (whole.reason, whole.attempt, whole.of) == expected


@given(st.sampled_from(["pi", "claude", "codex"]), st.binary(max_size=200))
def test_random_bytes_raise_nothing(agent: str, data: bytes) -> None:
    """Whatever a stream holds."""
    for needle in (b'"auto_retry_start"', b'"api_retry"', b"Reconnecting..."):
        assert observe(agent, data + needle + data + b"\n") is None


_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@given(st.data(), st.sampled_from(sorted(OPEN)))
def test_a_record_of_another_shape_raises_nothing(data: st.DataObject, case: str) -> None:
    """A known kind of record whose fields are not what they used to be."""
    agent, records, _ = OPEN[case]
    strange = [_strange(record, data) for record in records]

    wait = observe(agent, _stream(strange))

    assert wait is None or wait.reason in get_args(Reason)


@pytest.mark.corpus
def test_genuine_streams_end_in_a_wait_where_they_were_killed_in_one(genuine_streams: Path) -> None:
    """Of the streams of the real programs one was ended while it waited; the others retried and went on or gave up."""
    found = {
        f"{path.parent.name}/{path.name}": (wait.reason, wait.attempt, wait.of)
        for path in sorted(genuine_streams.glob("*/*.jsonl"))
        if (wait := observe(path.parent.name, path.read_bytes())) is not None
    }

    assert {"claude/fail_401.jsonl": ("unknown", 9, 10)} == found


def test_genuine_shapes_open_a_wait_until_the_answer() -> None:
    """Cut after every record, pi's stream of two failures waits exactly between a failure's retry and the answer."""
    records = [_failed(0), _pi_retry(1), *PI_AGAIN, _failed(1), _pi_retry(2), *PI_AGAIN[:2], PI_SPEAKS, _failed(2)]

    waits = [observe("pi", _stream(records[: count + 1])) is not None for count in range(len(records))]

    assert [False, *[True] * 8, False, False] == waits


def _strange(value: Any, data: st.DataObject) -> Any:
    """Put something else into one place, however deep."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _strange(value[key], data)}
    return data.draw(_VALUES)


def _stream(records: list[Record], separators: tuple[str, str] = (",", ":")) -> bytes:
    return b"".join(json.dumps(record, separators=separators).encode() + b"\n" for record in records)
