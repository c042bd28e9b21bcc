"""Prices of the ``genai-prices`` package: bundled with it, so that nothing is asked of the network.

An estimate is never added to what was billed. A model that the list does not know has no price: not zero.
"""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._usage import Usage

_PACKAGE: Final = "genai-prices"
_MANY: Final = 1_000_000
_PROVIDERS: Final = {
    "gemini": "google",
    "google-gemini-cli": "google",
    "google-antigravity": "google",
    "google-vertex": "google",
    "openai-codex": "openai",
    "azure-openai-responses": "azure",
    "amazon-bedrock": "aws",
}
"""What agents call a provider, where the list says another word."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a model call would have cost.

    Attributes:
        cost: US dollars.
        catalogue: the price list and its version.
    """

    cost: Decimal
    catalogue: str


class Prices:
    """A price list; asking it needs no network and no account. It is loaded when it is first asked."""

    def __init__(self) -> None:
        """Look for the list.

        Raises:
            PackageNotFoundError: the extra ``prices`` is not installed.
        """
        self.catalogue = f"{_PACKAGE} {version(_PACKAGE)}"
        self._list: Any = None
        self._models: dict[tuple[str, str], Any] = {}
        self._tiers: dict[int, tuple[Any, list[int]]] = {}
        self._rates: dict[tuple[int, int], _Rates | None] = {}

    def estimate(
        self, provider: str, model: str, usage: Usage, at: str, *, long_cache_write: int = 0, calls: int = 1
    ) -> Estimate | None:
        """Say what a model call would have cost, or several that are only known by their sum.

        Args:
            provider: as the agent calls it; empty when only the model is known, which must then be unmistakable.
            model: with or without ``provider/`` before it.
            usage: tokens; prices depend on how much goes in at once.
            at: when it was, since prices change.
            long_cache_write: tokens of ``usage.cache_write`` that are kept for an hour.
            calls: how many ``usage`` is of; each is taken to be of the same size.

        Returns:
            ``None`` when the list does not know the model or has no price for it.
        """
        found = self._model(provider, model.removeprefix(f"{provider}/") if provider else model)
        if found is None:
            return None
        price = found.get_prices(_moment(at))
        if not any(value for value in vars(price).values()):
            return None  # an entry without prices, not one that is free
        sent = usage.input + usage.cache_read + usage.cache_write
        rates = self._rates_of(price, sent // max(1, calls))
        if rates is None:
            return None
        cost = rates.cost(usage, min(long_cache_write, usage.cache_write))
        return Estimate(cost, self.catalogue)

    def _model(self, provider: str, model: str) -> Any:  # noqa: ANN401 - of the package
        key = (provider, model)
        if key not in self._models:
            self._models[key] = self._find(_PROVIDERS.get(provider, provider) or None, model) if model else None
        return self._models[key]

    def _find(self, provider: str | None, model: str) -> Any:  # noqa: ANN401 - of the package
        if self._list is None:
            from genai_prices import data_snapshot

            # The bundled list, whatever a program that we are part of has put in its place.
            self._list = data_snapshot._bundled_snapshot()
        try:
            return self._list.find_provider_model(model, None, provider, None)[1]
        except LookupError:
            return None

    def _rates_of(self, price: Any, sent: int) -> "_Rates | None":  # noqa: ANN401 - of the package
        """Return the rates for a call into which so many tokens went: asking the list each time takes far longer."""
        if id(price) not in self._tiers:
            # Kept with the price, so that its id is not given to another.
            self._tiers[id(price)] = (price, _tier_starts(price))
        starts = self._tiers[id(price)][1]
        tier = bisect_left(starts, sent)
        key = (id(price), tier)
        if key not in self._rates:
            self._rates[key] = _rates(_in_tier(price, sent))
        return self._rates[key]


class _Rates(NamedTuple):
    """Dollars for one token of each kind."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    long_cache_write: Decimal

    def cost(self, usage: Usage, long: int) -> Decimal:
        return (
            self.input * usage.input
            + self.output * usage.output
            + self.cache_read * usage.cache_read
            + self.cache_write * (usage.cache_write - long)
            + self.long_cache_write * long
        )


def _tier_starts(price: Any) -> list[int]:  # noqa: ANN401 - of the package
    from genai_prices.types import TieredPrices

    tiered = [value for value in vars(price).values() if isinstance(value, TieredPrices)]
    return sorted({tier.start for value in tiered for tier in value.tiers})


def _in_tier(price: Any, sent: int) -> Any:  # noqa: ANN401 - of the package
    """Return the price that holds when so many tokens go in: all of them pay the rate of the highest tier reached."""
    from genai_prices.types import TieredPrices

    flat = {}
    for name, value in vars(price).items():
        if isinstance(value, TieredPrices):
            reached = [tier.price for tier in value.tiers if sent > tier.start]
            flat[name] = reached[-1] if reached else value.base
        else:
            flat[name] = value
    return type(price)(**flat)


def _rates(price: Any) -> _Rates | None:  # noqa: ANN401 - of the package
    """Ask the list what a million tokens of each kind cost; ``None`` when it contradicts itself."""
    cached_read = {"input_tokens": _MANY, "cache_read_tokens": _MANY}
    cached_write = {"input_tokens": _MANY, "cache_write_tokens": _MANY}
    kinds = (
        {"input_tokens": _MANY, "cache_read_tokens": 0, "cache_write_tokens": 0},
        {"output_tokens": _MANY},
        cached_read,
        cached_write,
        {**cached_write, "cache_write_1h_tokens": _MANY},
    )
    try:
        costs = [_calculated(price, kind) for kind in kinds]
    except (ValueError, ArithmeticError):
        return None
    return _Rates(*(cost / _MANY for cost in costs))


def _calculated(price: Any, counts: dict[str, int]) -> Decimal:  # noqa: ANN401 - of the package
    from genai_prices import Usage as TokenUsage

    return Decimal(price.calc_price(TokenUsage(**counts))["total_price"])


def load_prices() -> Prices | None:
    """Return the price list, ``None`` when the extra ``prices`` is not installed."""
    try:
        return Prices()
    except PackageNotFoundError:
        return None


def _moment(at: str) -> datetime:
    return parse_time(at) or datetime.now(UTC)
