"""Whether an agent's stream ends in a wait for its model provider: a retry that was announced and not yet answered.

pi, Claude Code and Codex announce retries. Of opencode and gemini-cli nothing is said: opencode retries silently,
gemini-cli tells it to its standard error alone, where nothing would end the wait.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from agent_workflow.cli.supervisor._permission_streams import lines
from agent_workflow.cli.supervisor.documents import inner, number, parse, text, whole_number

Reason = Literal["rate_limit", "overloaded", "network", "server_error", "unknown"]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProviderWait:
    """An open wait for the provider.

    Attributes:
        reason: a closed word; a provider's own text is never kept.
        attempt: the number of the retry that is waited for, None where the record does not tell.
        of: how many there will be at most.
        since: when the failure was that began the wait, aware UTC; only pi's records tell.
        position: byte offset of the record that announced the newest retry.
    """

    reason: Reason
    attempt: int | None
    of: int | None
    since: datetime | None
    position: int


class _State(NamedTuple):
    """What a stream says so far: the open wait, and when the last failed answer came."""

    wait: ProviderWait | None = None
    failed_at: datetime | None = None


def observe(agent: str | None, data: bytes) -> ProviderWait | None:
    """Return the wait in which a stream ends.

    Args:
        agent: ``pi``, ``claude`` or ``codex``; of any other nothing is said.
        data: the stream or its end, from the beginning of a line on. A last line without newline waits.

    Returns:
        None where the last word is not a retry: what a model says after it ends the wait.
    """
    reader = _READERS.get(agent or "")
    if reader is None or not any(needle in data for needle in reader.needles):
        return None
    state = _State()
    for position, line in lines(data):
        # Only an open wait can be ended: else a search for bytes is enough to pass a record by.
        if state.wait is None and not any(needle in line for needle in reader.needles):
            continue
        try:
            record = parse(line)
        except ValueError:
            continue
        state = reader.read(state, record, position)
    return state.wait


def _read_pi(state: _State, record: Record, position: int) -> _State:
    kind, message = record.get("type"), inner(record, "message")
    if kind in ("auto_retry_start", "summarization_retry_scheduled"):
        reason = _reason_of_text(text(record.get("errorMessage")))
        since = (state.wait and state.wait.since) or state.failed_at
        attempt, most = whole_number(record.get("attempt")), whole_number(record.get("maxAttempts"))
        return _State(ProviderWait(reason, attempt, most, since, position))
    if kind in _PI_GOES_ON:
        return _State()
    if kind == "message_end" and message.get("role") == "assistant":
        if message.get("stopReason") == "error":
            return state._replace(failed_at=_epoch(message.get("timestamp")))
        return _State()
    return state


def _read_claude(state: _State, record: Record, position: int) -> _State:
    kind, subtype = record.get("type"), record.get("subtype")
    if kind == "system" and subtype == "api_retry":
        reason = _CLAUDE_REASONS.get(str(record.get("error"))) or _reason_of_status(record.get("error_status"))
        attempt, most = whole_number(record.get("attempt")), whole_number(record.get("max_retries"))
        return _State(ProviderWait(reason, attempt, most, None, position))
    if kind == "rate_limit_event" and inner(record, "rate_limit_info").get("status") == "rejected":
        return _State(ProviderWait("rate_limit", None, None, None, position))
    return _State() if kind in ("assistant", "user", "stream_event", "result") else state


def _read_codex(state: _State, record: Record, position: int) -> _State:
    method = text(record.get("method"))
    event = inner(record, "params") if method else inner(record, "msg") or record
    kind = method or text(event.get("type")) or ""
    if kind in ("error", "stream_error"):
        message = text(event.get("message")) or text(inner(event, "error").get("message")) or ""
        retry = _CODEX_RETRY.match(message)
        if retry is None and event.get("willRetry") is not True:
            # It gave up, unless it only tries another way.
            return state if message.startswith("Falling back ") else _State()
        reason = _codex_reason(inner(event, "error").get("codexErrorInfo")) or _reason_of_text(message)
        attempt, most = _tries(retry)
        return _State(ProviderWait(reason, attempt, most, None, position))
    is_warning = inner(event, "item").get("type") == "error"
    return _State() if kind.startswith(_CODEX_GOES_ON) and not is_warning else state


def _tries(retry: re.Match[str] | None) -> tuple[int | None, int | None]:
    if retry is None:
        return None, None
    attempt, most = retry["attempt"] or retry["old_attempt"], retry["most"] or retry["old_most"]
    return (int(attempt), int(most)) if attempt else (None, None)


def _codex_reason(info: object) -> Reason | None:
    if isinstance(info, dict):
        return "network" if any(str(name).endswith(_CODEX_CONNECTIONS) for name in info) else None
    return _CODEX_REASONS.get(info) if isinstance(info, str) else None


def _reason_of_status(status: object) -> Reason:
    code = whole_number(status)
    if code is None:
        return "network" if status is None else "unknown"
    if code == 429:
        return "rate_limit"
    if code in (503, 529):
        return "overloaded"
    return "server_error" if code >= 500 else "unknown"


def _reason_of_text(message: str | None) -> Reason:
    for pattern, reason in _TEXTS:
        if message and pattern.search(message[:2000]):
            return reason
    return "unknown"


def _epoch(milliseconds: object) -> datetime | None:
    value = number(milliseconds)
    try:
        return None if value is None else datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


_PI_GOES_ON: Final = (
    "auto_retry_end",
    "summarization_retry_finished",
    "compaction_end",
    "message_update",
    "tool_execution_start",
    "agent_settled",
)
_CLAUDE_REASONS: Final[dict[str, Reason]] = {
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "server_error": "server_error",
}
_CODEX_REASONS: Final[dict[str, Reason]] = {
    "rateLimitExceeded": "rate_limit",
    "usageLimitExceeded": "rate_limit",
    "serverOverloaded": "overloaded",
    "policyCapacityUnavailable": "overloaded",
    "internalServerError": "server_error",
}
_CODEX_CONNECTIONS: Final = ("ConnectionFailed", "Disconnected", "TooManyFailedAttempts")
_CODEX_RETRY: Final = re.compile(
    r"Reconnecting\.\.\.(?: (?P<attempt>\d{1,6})/(?P<most>\d{1,6}))?"
    r"|stream error: .*?retrying (?P<old_attempt>\d{1,6})/(?P<old_most>\d{1,6})",
    re.DOTALL,
)
_CODEX_GOES_ON: Final = ("item", "turn", "agent_", "exec_command", "patch_apply", "mcp_tool", "task_")
_TEXTS: Final[tuple[tuple[re.Pattern[str], Reason], ...]] = (
    (re.compile(r"\b429\b|rate.?limit|usage limit|too many requests|quota", re.IGNORECASE), "rate_limit"),
    (re.compile(r"\b(?:503|529)\b|overloaded|high demand|at capacity", re.IGNORECASE), "overloaded"),
    (re.compile(r"\b5\d\d\b|server.?error|internal error|bad gateway", re.IGNORECASE), "server_error"),
    (
        re.compile(
            r"connect|network|socket|fetch failed|timed? ?out|sending request|terminated|E(?:CONN|NOTFOUND|PIPE|AI_)",
            re.IGNORECASE,
        ),
        "network",
    ),
)


class _Reader(NamedTuple):
    """The bytes of which a record that opens a wait has at least one, and the function that reads a record."""

    needles: tuple[bytes, ...]
    read: Callable[[_State, Record, int], _State]


_READERS: Final = {
    "claude": _Reader((b'"api_retry"', b'"rate_limit_event"'), _read_claude),
    "codex": _Reader((b"Reconnecting...", b"stream error: ", b'"willRetry"'), _read_codex),
    "pi": _Reader(
        (b'"auto_retry_start"', b'"summarization_retry_scheduled"', b'"stopReason":"error"', b'"stopReason": "error"'),
        _read_pi,
    ),
}
