"""Prices of the ``genai-prices`` package: bundled with it, so that nothing is asked of the network.

An estimate is never added to what was billed. A model that the list does not know has no price: not zero.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import Any, Final

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._usage import Usage

_PACKAGE: Final = "genai-prices"
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
    """A price list; asking it needs no network and no account."""

    def __init__(self) -> None:
        """Load the list.

        Raises:
            ModuleNotFoundError: the extra ``prices`` is not installed.
        """
        from genai_prices import Usage as TokenUsage
        from genai_prices import data_snapshot

        self.catalogue = f"{_PACKAGE} {version(_PACKAGE)}"
        # The bundled list, whatever a program that we are part of has put in its place.
        self._list = data_snapshot._bundled_snapshot()
        self._usage = TokenUsage
        self._unknown: set[tuple[str, str]] = set()

    def estimate(
        self, provider: str, model: str, usage: Usage, at: str, *, long_cache_write: int = 0
    ) -> Estimate | None:
        """Say what one model call would have cost.

        Args:
            provider: as the agent calls it; empty when only the model is known, which must then be unmistakable.
            model: with or without ``provider/`` before it.
            usage: of one call: prices depend on how much goes in at once.
            at: when it was, since prices change.
            long_cache_write: tokens of ``usage.cache_write`` that are kept for an hour.

        Returns:
            ``None`` when the list does not know the model or has no price for it.
        """
        named = model.removeprefix(f"{provider}/") if provider else model
        if not named or (provider, named) in self._unknown:
            return None
        calls = self._counted(usage, long_cache_write)
        try:
            told: Any = self._list.calc(calls, named, _PROVIDERS.get(provider, provider) or None, None, _moment(at))
        except LookupError:
            self._unknown.add((provider, named))
            return None
        except (ValueError, ArithmeticError):
            return None  # counts that contradict each other have no price
        cost = Decimal(told.total_price)
        if cost == 0 and usage.total > 0 and not _is_free(told.model_price):
            return None
        return Estimate(cost, self.catalogue)

    def _counted(self, usage: Usage, long_cache_write: int) -> Any:  # noqa: ANN401 - of the package
        counts = {
            "input_tokens": usage.input + usage.cache_read + usage.cache_write,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "output_tokens": usage.output,
        }
        if long_cache_write:
            counts["cache_write_1h_tokens"] = min(long_cache_write, usage.cache_write)
        return self._usage(**counts)


def load_prices() -> Prices | None:
    """Return the price list, ``None`` when the extra ``prices`` is not installed."""
    try:
        return Prices()
    except ModuleNotFoundError as error:
        if error.name not in ("genai_prices", "genai-prices"):
            raise
        return None


def _moment(at: str) -> datetime:
    return parse_time(at) or datetime.now(UTC)


def _is_free(price: Any) -> bool:  # noqa: ANN401 - of the package
    """Tell a price of zero from one that is not stated."""
    return getattr(price, "input_mtok", None) is not None or getattr(price, "output_mtok", None) is not None
