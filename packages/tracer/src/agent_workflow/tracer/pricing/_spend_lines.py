"""What traces say was spent, line by line: by agents that were recorded, and by sessions that were imported.

The same work may be told more than once: a database may be a copy of another, and a run that was recorded may have been
imported from the agent's own file as well. It counts once, for who recorded it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._session_parts import json_object
from agent_workflow.tracer._source import TraceSource
from agent_workflow.tracer._usage import COMPONENTS, Usage, dollars
from agent_workflow.tracer.pricing._estimate import Prices

Basis = Literal["billed", "estimated", "subscription", "unknown"]

_PROVIDERS: Final = {"claude_code": "anthropic", "codex": "openai", "gemini": "google"}
_PARTS: Final = ("usage", "compaction_usage", "tool_usage")
_STATEMENT: Final = (
    "SELECT event_id, parent_id, type, started_at, payload_json FROM events"
    " WHERE adw_id = ? AND type IN ('agent_start', 'agent_end') ORDER BY rowid"
)
_COLUMNS: Final = frozenset(["event_id", "parent_id", "adw_id", "type", "started_at", "payload_json"])

Tokens = tuple[int, int, int, int]
Conversation = tuple[str, str]
"""A kind of coding agent, and what it calls the conversation."""


@dataclass(frozen=True, slots=True)
class SpendLine:
    """Model calls of one model about one time.

    Attributes:
        session: id of the session in its trace.
        agent: the kind of coding agent, empty when nobody told; so is ``model``.
        repo: folder that was worked in, empty when not known.
        at: UTC time as the trace writes it, empty when not known.
        calls: of the model, zero when not known.
        tokens: input without the cache, output, cache read, cache write.
        other: tokens that no component accounts for.
        amount: US dollars by ``basis``, ``None`` when unknown.
        lines, raw: how often usage was written down, and the tokens of all of it together: repetitions and copies are
            in here alone.
    """

    session: str
    agent: str
    model: str
    repo: str
    at: str
    calls: int = 0
    tokens: Tokens = (0, 0, 0, 0)
    other: int = 0
    basis: Basis = "unknown"
    amount: Decimal | None = None
    lines: int = 0
    raw: Tokens = (0, 0, 0, 0)
    raw_other: int = 0

    @property
    def as_repetition(self) -> "SpendLine":
        """The same, told once more: it counts as raw alone."""
        return replace(self, calls=0, tokens=(0, 0, 0, 0), other=0, amount=None, basis="unknown")


@dataclass(frozen=True, slots=True)
class _Call:
    """One ``agent_end`` with what its start says."""

    event_id: str
    session: str
    start: Mapping[str, Any]
    end: Mapping[str, Any]
    began: str
    at: str
    repo: str

    @property
    def is_imported(self) -> bool:
        return self.end.get("imported") is True

    @property
    def agent(self) -> str:
        return _words(self.start.get("coding_agent"))

    @property
    def conversations(self) -> list[Conversation]:
        told = [self.end.get("session_id"), *(send.get("session_id") for send in _objects(self.end.get("sends")))]
        return [(self.agent, one) for one in dict.fromkeys(told) if isinstance(one, str) and one]


def read_spend(databases: Iterable[Path], prices: Prices | None = None) -> Iterator[SpendLine]:
    """Read all spend of some trace databases.

    Args:
        databases: of any writer; the first to tell of something counts.
        prices: for what has no money; none is estimated without.

    Raises:
        TraceReadError: one of them cannot be read.
    """
    paths = list(dict.fromkeys(path.absolute() for path in databases))
    recorded = _recorded(paths)
    seen: set[str] = set()
    for path in paths:
        for call in _calls(path):
            is_again = call.event_id in seen or (call.is_imported and _was_recorded(call, recorded))
            seen.add(call.event_id)
            lines = _imported(call, prices) if call.is_imported else _told(call, prices)
            for line in lines:
                yield line.as_repetition if is_again else line


def _calls(path: Path) -> Iterator[_Call]:
    repo = _repository(path.parent)
    with TraceSource(path) as source:
        if not _COLUMNS.issubset(source.columns("events")):
            return
        for (adw_id,) in source.tuples("SELECT adw_id FROM sessions ORDER BY rowid"):
            starts: dict[str, tuple[dict[str, Any], str]] = {}
            for event_id, parent, kind, at, payload in source.tuples(_STATEMENT, (adw_id,)):
                told = json_object(payload)
                if kind == "agent_start":
                    starts[str(event_id)] = (told, str(at or ""))
                    continue
                start, began = starts.get(str(parent), ({}, ""))
                where = _words(start.get("cwd")) if told.get("imported") is True else repo
                yield _Call(str(event_id), str(adw_id), start, told, began, str(at or ""), where)


def _recorded(paths: list[Path]) -> dict[Conversation, list[tuple[str, str]]]:
    """Find when each conversation was recorded while it went on, where that has tokens to tell."""
    spans: dict[Conversation, list[tuple[str, str]]] = {}
    for path in paths:
        for call in _calls(path):
            if not call.is_imported and any(sum(line.tokens) or line.other for line in _told(call, None)):
                for conversation in call.conversations:
                    spans.setdefault(conversation, []).append((call.began or call.at, call.at))
    return spans


def _was_recorded(call: _Call, recorded: Mapping[Conversation, list[tuple[str, str]]]) -> bool:
    spans = [span for conversation in call.conversations for span in recorded.get(conversation, [])]
    return any(began <= call.at and call.began <= ended for began, ended in spans)


def _imported(call: _Call, prices: Prices | None) -> Iterator[SpendLine]:
    """Read an imported turn: what counts and what stands in the files, each by quarter of an hour and model."""
    for group in _objects(call.end.get("spend")):
        line = SpendLine(
            session=call.session,
            agent=call.agent,
            model=_words(group.get("model")),
            repo=call.repo,
            at=_words(group.get("at")),
            calls=_count(group.get("calls")),
            tokens=_tokens(group),
            other=_count(group.get("unattributed_tokens")),
            basis=_basis(group.get("basis")),
            amount=dollars(group.get("amount")),
        )
        yield _estimated(line, prices, _words(group.get("provider"))) if line.basis != "billed" else line
    for group in _objects(call.end.get("raw")):
        model, at = _words(group.get("model")), _words(group.get("at"))
        yield SpendLine(
            call.session, call.agent, model, call.repo, at, lines=_count(group.get("lines")), raw=_tokens(group)
        )


def _told(call: _Call, prices: Prices | None) -> Iterator[SpendLine]:
    """Read a recorded call: the conversation, its compaction, and tools that called a model."""
    sends = _objects(call.end.get("sends"))
    models = [send["model"] for send in sends if isinstance(send.get("model"), str)]
    model = (models[-1] if models else "") or _words(call.start.get("model"))
    for part in _PARTS:
        usage = call.end.get(part)
        if not isinstance(usage, dict):
            continue
        tokens = _tokens(usage)
        other = max(0, _count(usage.get("total_tokens")) - sum(tokens))
        amount = dollars(usage.get("total_cost"))
        if part == "usage" and amount is None and not any(call.end.get(name) for name in _PARTS[1:]):
            amount = dollars(call.end.get("cost"))
        turns = sum(_count(send.get("turns")) for send in sends) if part == "usage" else 1
        if not (sum(tokens) or other or amount):
            continue
        line = SpendLine(
            session=call.session,
            agent=call.agent,
            model=model,
            repo=call.repo,
            at=call.at,
            calls=turns,
            tokens=tokens,
            other=other,
            basis="unknown" if amount is None else "billed",
            amount=amount,
            lines=turns,
            raw=tokens,
            raw_other=other,
        )
        yield line if amount is not None else _estimated(line, prices, "")


def _estimated(line: SpendLine, prices: Prices | None, provider: str) -> SpendLine:
    """Put a price to a line that has none."""
    if line.amount is not None or prices is None or line.other or line.basis == "billed":
        return line
    provider = provider or line.model[: max(0, line.model.find("/"))] or _PROVIDERS.get(line.agent, "")
    if not provider:
        return line
    usage = Usage(*line.tokens, None, sum(line.tokens), None, None)
    told = prices.estimate(provider, line.model, usage, line.at, calls=line.calls)
    if told is None:
        return line
    return replace(line, amount=told.cost, basis="estimated" if line.basis == "unknown" else line.basis)


def _repository(folder: Path) -> str:
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(folder)


def _tokens(told: Mapping[str, Any]) -> Tokens:
    one, two, three, four = (_count(told.get(f"{name}_tokens")) for name in COMPONENTS)
    return one, two, three, four


def _basis(told: object) -> Basis:
    return told if told in ("billed", "estimated", "subscription") else "unknown"


def _count(told: object) -> int:
    return max(0, as_int(told) or 0)


def _words(told: object) -> str:
    return told if isinstance(told, str) else ""


def _objects(told: object) -> list[dict[str, Any]]:
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []


__all__ = ["Basis", "SpendLine", "read_spend"]
