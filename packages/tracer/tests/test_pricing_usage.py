"""Sums of tokens and money: by day in any time zone, each model call once, money by where it is from."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from import_lab import FIRST, SECOND, Trace, answer, lines, prompt

from agent_workflow.tracer import Tracer
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.pricing import SpendLine, day_of, load_prices, read_spend, sum_usage

BERLIN = ZoneInfo("Europe/Berlin")


def line(at: str, **more: Any) -> SpendLine:
    """A line of ten tokens."""
    return SpendLine("s", "pi", "m", "/r", at, **{"calls": 1, "tokens": (10, 0, 0, 0), "lines": 1, **more})


@pytest.mark.parametrize(
    ("at", "day"),
    [
        ("2026-03-28T22:59:59.999+00:00", "2026-03-28"),
        ("2026-03-28T23:00:00.000+00:00", "2026-03-29"),
        # The clocks go forward on the 29th, and back on the 25th of October: these days have 23 and 25 hours.
        ("2026-03-29T21:59:59.999+00:00", "2026-03-29"),
        ("2026-03-29T22:00:00.000+00:00", "2026-03-30"),
        ("2026-10-24T22:00:00.000+00:00", "2026-10-25"),
        ("2026-10-25T22:59:59.999+00:00", "2026-10-25"),
        ("2026-10-25T23:00:00.000+00:00", "2026-10-26"),
        ("", None),
        ("yesterday", None),
    ],
)
def test_a_day_begins_at_midnight_by_the_clock_on_the_wall(at: str, day: str | None) -> None:
    """Also on the days on which the clock is put forward or back."""
    assert day == day_of(at, BERLIN)


def test_zones_that_are_off_by_quarters_of_an_hour() -> None:
    """What was summed by quarters of an hour can be told by the days of any zone."""
    assert "2026-03-02" == day_of("2026-03-01T18:15:00.000+00:00", ZoneInfo("Asia/Kathmandu"))
    assert "2026-03-01" == day_of("2026-03-01T18:00:00.000+00:00", ZoneInfo("Asia/Kathmandu"))


@given(st.lists(st.integers(0, 40_000), max_size=20), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu"]))
def test_days_lose_nothing(hours: list[int], zone: str) -> None:
    """The days of every zone come to the same whole."""
    told = [line(datetime.fromtimestamp(1_700_000_000 + hour * 900, UTC).isoformat()) for hour in hours]
    sums, whole = sum_usage(told, "day", ZoneInfo(zone))

    assert 10 * len(hours) == whole.total == sum(one.total for one in sums)
    assert sorted(sums, key=lambda one: one.key or "") == sums


def test_money_of_different_kinds_is_never_added() -> None:
    """Each has a sum of its own; what nobody can price is told in tokens."""
    told = [
        line("2026-03-01T00:00:00+00:00", basis="billed", amount=Decimal("0.1")),
        line("2026-03-01T00:00:00+00:00", basis="billed", amount=Decimal("0.2")),
        line("2026-03-01T00:00:00+00:00", basis="estimated", amount=Decimal(5)),
        line("2026-03-01T00:00:00+00:00", basis="subscription", amount=Decimal(7)),
        line("2026-03-01T00:00:00+00:00"),
    ]
    _, whole = sum_usage(told, "agent")

    document = whole.document()
    assert (0.3, 5.0, 7.0, 10) == tuple(
        document[name] for name in ("billed", "estimated", "subscription", "unpriced_tokens")
    )
    _, covered = sum_usage(told, "agent", subscriptions=["pi"])
    assert (Decimal("0.3"), None, Decimal(12)) == (covered.billed, covered.estimated, covered.subscription)


def test_no_money_is_not_zero_money() -> None:
    """Where nothing of a kind was spent there is no number."""
    _, whole = sum_usage([line("2026-03-01T00:00:00+00:00")], "model")

    document = whole.document()
    assert (None, None, None) == tuple(document[name] for name in ("billed", "estimated", "subscription"))


def test_since_leaves_out_what_is_older_or_has_no_time() -> None:
    """From the moment on."""
    told = [line("2026-03-01T00:00:00+00:00"), line("2026-03-02T00:00:00+00:00"), line("")]
    _, whole = sum_usage(told, "day", UTC, since=datetime(2026, 3, 2, tzinfo=UTC))

    assert 10 == whole.total


@pytest.fixture
def imported(tmp_path: Path) -> Trace:
    """A session and one that was resumed from it into a file of its own."""
    old = [prompt(FIRST, "One", 0), answer(FIRST, "a", 1, {"type": "text", "text": "x"}, spent=(100, 1))]
    old.append(answer(FIRST, "a", 2, spent=(100, 10)))
    (tmp_path / f"{FIRST}.jsonl").write_bytes(lines(*old))
    copied = [{**record, "sessionId": SECOND} for record in old]
    more = [prompt(SECOND, "Two", 60_000), answer(SECOND, "b", 61_000, spent=(50, 5))]
    (tmp_path / f"{SECOND}.jsonl").write_bytes(lines(*copied, *more))
    trace = Trace(tmp_path / "trace")
    trace.take(tmp_path)
    return trace


def test_deduplicated_and_raw_side_by_side(imported: Trace) -> None:
    """Each message once, and what somebody would count who counts every line of every file."""
    (one,), whole = sum_usage(read_spend([imported.db]), "agent")

    assert "claude_code" == one.key
    assert 110 + 55 == whole.total
    assert 2 * (101 + 110) + 55 == whole.raw_total
    assert (2, 5) == (whole.calls, whole.lines)


def test_by_day_and_by_repository(imported: Trace) -> None:
    """A day is that of the model call, in the zone that was asked for."""
    east, _ = sum_usage(read_spend([imported.db]), "day", ZoneInfo("Asia/Tokyo"))
    west, _ = sum_usage(read_spend([imported.db]), "day", ZoneInfo("America/Los_Angeles"))
    places, _ = sum_usage(read_spend([imported.db]), "repo")

    assert [("2026-03-01", 110), ("2026-03-02", 55)] == [(one.key, one.total) for one in east]
    assert [("2026-02-28", 110), ("2026-03-01", 55)] == [(one.key, one.total) for one in west]
    assert ["/home/dev/repo"] == [one.key for one in places]


def test_the_same_sessions_in_another_database_count_once(imported: Trace, tmp_path: Path) -> None:
    """Whoever imports into two repositories has not paid twice."""
    other = Trace(tmp_path / "other")
    other.take(tmp_path / f"{FIRST}.jsonl", tmp_path / f"{SECOND}.jsonl")

    _, whole = sum_usage(read_spend([imported.db, other.db, imported.db]), "agent")

    assert 165 == whole.total
    assert 2 * (2 * 211 + 55) == whole.raw_total


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Tracer]:
    """A recorder of a session of its own."""
    tracer = Tracer(tmp_path / "recorded" / "sssf.db", tmp_path / "recorded", "feed0001")
    tracer.row("sessions", status="success")
    yield tracer
    tracer.close()


def record(tracer: Tracer, session_id: str, at: str, cost: float | None, model: str = "m") -> None:
    """Record a call of Claude Code as the recorder does."""
    start = {"coding_agent": "claude_code", "session_id": session_id, "model": model}
    start_id = tracer.event("agent_start", "builder", start, started_at=at)
    tokens = {"input_tokens": 100, "output_tokens": 10, "cache_read_tokens": 0, "cache_write_tokens": 0}
    usage = {**tokens, "total_tokens": 110, "total_cost": cost}
    end = {"cost": cost, "usage": usage, "session_id": session_id, "sends": [{"turns": 1, "session_id": session_id}]}
    tracer.event("agent_end", "builder", end, parent_id=start_id, started_at=at)


def test_what_was_recorded_is_not_counted_again_when_imported(imported: Trace, recorder: Tracer) -> None:
    """The recorder knows what was billed: its turn stands, and the imported one of the same time is a repetition."""
    record(recorder, FIRST, "2026-03-01T00:00:01.000+00:00", 0.5)

    _, whole = sum_usage(read_spend([imported.db, recorder.db]), "agent")

    assert 110 + 55 == whole.total
    assert Decimal("0.5") == whole.billed
    assert (2 * 211 + 55) + 110 == whole.raw_total


def test_a_later_turn_of_the_same_conversation_counts(imported: Trace, recorder: Tracer) -> None:
    """Somebody went on by hand with what a workflow had begun."""
    record(recorder, FIRST, "2026-02-01T00:00:00.000+00:00", 0.5)

    _, whole = sum_usage(read_spend([imported.db, recorder.db]), "agent")

    assert 110 + 55 + 110 == whole.total


def test_a_recorded_call_without_money_is_estimated(recorder: Tracer) -> None:
    """By the model that it names, where a list is at hand; without one it stays unknown."""
    pytest.importorskip("genai_prices")
    record(recorder, "x", "2026-03-01T00:00:00.000+00:00", None, "anthropic/claude-sonnet-4-5")

    _, without = sum_usage(read_spend([recorder.db]), "agent")
    _, priced = sum_usage(read_spend([recorder.db], load_prices()), "agent")

    assert (None, None, 110) == (without.billed, without.estimated, without.unpriced)
    assert (None, Decimal("0.00045"), 0) == (priced.billed, priced.estimated, priced.unpriced)


def test_a_model_whose_own_name_has_a_slash(recorder: Tracer) -> None:
    """The provider is the first word alone: others ask another price for the same model."""
    pytest.importorskip("genai_prices")
    record(recorder, "x", "2026-03-01T00:00:00.000+00:00", None, "groq/openai/gpt-oss-120b")
    prices = load_prices()
    assert prices is not None
    usage = Usage(100, 10, 0, 0, None, 110, None, None)
    wanted = prices.estimate("groq", "openai/gpt-oss-120b", usage, "2026-03-01T00:00:00.000+00:00")

    _, priced = sum_usage(read_spend([recorder.db], prices), "agent")

    assert wanted is not None
    assert wanted.cost == priced.estimated


def test_imported_tokens_that_no_component_accounts_for(tmp_path: Path) -> None:
    """A total that an agent told is the sessions' and the usage's alike, whatever its parts come to."""
    told = {"role": "assistant", "stopReason": "stop", "model": "m", "usage": {"input": 10, "totalTokens": 25}}
    file = tmp_path / "session.jsonl"
    file.write_bytes(
        lines(
            {"type": "session", "id": "s", "cwd": "/", "timestamp": "2026-03-01T00:00:00.000Z"},
            {"type": "message", "id": "a", "timestamp": "2026-03-01T00:00:01.000Z", "message": told},
        )
    )
    trace = Trace(tmp_path / "trace")
    trace.take(file)

    _, whole = sum_usage(read_spend([trace.db]), "model", ZoneInfo("UTC"))

    assert [25] == list(trace.tokens().values())
    assert (25, 15) == (whole.total, whole.other)
