"""Times in filters: ISO 8601, or an age."""

from datetime import UTC, datetime

from agent_workflow.index_store import InvalidQuestion, parse_moment
from agent_workflow.visualizer._errors import MalformedRequest


def moment(text: str | None, name: str) -> str | None:
    """Read a bound of time as traces write times.

    Args:
        text: ISO 8601, or an age such as ``24h``.
        name: of the filter, for the message.

    Raises:
        MalformedRequest: it is neither.
    """
    if text is None or not text.strip():
        return None
    try:
        return datetime.fromtimestamp(parse_moment(text.strip(), name), UTC).isoformat(timespec="milliseconds")
    except (InvalidQuestion, ValueError, OverflowError, OSError):
        raise MalformedRequest(
            f"{name}: an ISO 8601 time such as 2026-07-01T12:00:00Z, or an age such as 24h"
        ) from None
