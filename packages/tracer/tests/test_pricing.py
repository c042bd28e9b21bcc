"""Estimated cost: from the bundled list, offline, and unknown where the list does not know."""

import socket
import sys
from decimal import Decimal

import pytest

from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.pricing import Prices, load_prices

AT = "2026-11-30T07:15:38.470+00:00"


@pytest.fixture(scope="module")
def prices() -> Prices:
    """Load the list, or skip where the extra is not installed."""
    pytest.importorskip("genai_prices")
    listed = load_prices()
    assert listed is not None
    return listed


def spent(fresh: int = 0, output: int = 0, read: int = 0, write: int = 0) -> Usage:
    """Tokens whose price nobody told."""
    return Usage(fresh, output, read, write, None, fresh + output + read + write, None, None)


def by_the_package(provider: str, model: str, usage: Usage, long: int = 0) -> Decimal:
    """Ask the package itself, as its documentation says."""
    import genai_prices

    counts = {
        "input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
    }
    if long:
        counts["cache_write_1h_tokens"] = long
    return genai_prices.calc_price(genai_prices.Usage(**counts), model, provider_id=provider).total_price


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-opus-4-8"),
        ("anthropic", "claude-sonnet-4-5"),
        ("openai", "gpt-5.5"),
        ("google", "gemini-2.5-pro"),
    ],
)
@pytest.mark.parametrize(
    "usage",
    [
        spent(100, 50),
        spent(100, 50, 1_000, 500),
        spent(250_000, 10, 1),
        spent(200_000, 7, 0),
        spent(1, 3, 200_000, 0),
    ],
    ids=["plain", "cached", "large", "at the edge", "large and cached"],
)
def test_an_estimate_is_what_the_package_says(prices: Prices, provider: str, model: str, usage: Usage) -> None:
    """Our short way round its arithmetic comes to the same, in every tier of size."""
    told = prices.estimate(provider, model, usage, AT)

    assert told is not None
    assert by_the_package(provider, model, usage) == told.cost


def test_a_cache_kept_for_an_hour_costs_more(prices: Prices) -> None:
    """Of the tokens that went to the cache, only those."""
    usage = spent(100, 50, 0, 500)
    told = prices.estimate("anthropic", "claude-opus-4-8", usage, AT, long_cache_write=200)

    assert told is not None
    assert by_the_package("anthropic", "claude-opus-4-8", usage, long=200) == told.cost


def test_an_unknown_model_has_no_price(prices: Prices) -> None:
    """Not zero, and not that of another model; a known name from somebody unknown is unknown as well."""
    usage = spent(100, 50)

    assert prices.estimate("anthropic", "my-local-model", usage, AT) is None
    assert prices.estimate("local", "scripted", usage, AT) is None
    assert prices.estimate("fake", "gpt-5.5", usage, AT) is None
    assert prices.estimate("", "", usage, AT) is None


def test_provider_before_the_model_and_other_names_for_it(prices: Prices) -> None:
    """What agents write: ``provider/model``, and names of their own for a provider."""
    usage = spent(100, 50)
    plain = prices.estimate("anthropic", "claude-opus-4-8", usage, AT)

    assert plain == prices.estimate("anthropic", "anthropic/claude-opus-4-8", usage, AT)
    assert prices.estimate("google", "gemini-2.5-pro", usage, AT) == prices.estimate(
        "gemini", "gemini-2.5-pro", usage, AT
    )


def test_the_catalogue_has_its_version(prices: Prices) -> None:
    """Prices change: an estimate says which list it is from."""
    told = prices.estimate("openai", "gpt-5.5", spent(1), AT)

    assert told is not None
    name, version = told.catalogue.split()
    assert "genai-prices" == name
    assert version[0].isdigit()


def test_no_network_is_asked(prices: Prices, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh list opens no connection."""

    def refuse(*_: object) -> None:
        raise AssertionError("somebody wants the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    told = Prices().estimate("openai", "gpt-5.5", spent(1_000), AT)

    assert told is not None
    assert told.cost > 0


def test_without_the_extra_there_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else goes on."""
    monkeypatch.setattr(sys, "path", [])

    assert load_prices() is None
