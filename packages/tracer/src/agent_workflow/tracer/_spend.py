"""What a session's events say about it as a whole: what it has spent, and whether somebody did not accept it."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer._usage import spend_of


def recorded_spend(files: SessionFiles) -> tuple[int, Decimal | None]:
    """Sum up the ``agent_end`` events of a session; a running sum could not be checked.

    Returns:
        Tokens, and dollars or ``None`` when the price of one of them is not known.
    """
    tokens, cost = 0, Decimal(0)
    is_known = True
    for record in events_with(files, b'"agent_end"'):
        payload = record.get("payload")
        if record.get("type") != "agent_end" or not isinstance(payload, dict):
            continue
        more_tokens, more_cost = spend_of(payload)
        tokens += more_tokens
        if more_cost is None:
            is_known = False
        else:
            cost += more_cost
    return tokens, cost if is_known else None


def refused_since(files: SessionFiles, moment: str) -> bool:
    """Tell whether a workflow did not accept the session at or after a time."""
    return any(
        record.get("name") == "not_accepted" and str(record.get("ts")) >= moment
        for record in events_with(files, b'"not_accepted"')
    )


def events_with(files: SessionFiles, needle: bytes) -> Iterator[dict[str, Any]]:
    """Read only the events whose line holds a text: most of a long run are tool calls.

    Args:
        files: the session.
        needle: the text, as it stands in the file.
    """
    with files.events.open("rb") as lines:
        for line in lines:
            if needle in line and line.endswith(b"\n"):
                try:
                    yield decode_record(line)
                except ValueError:
                    continue  # reported by rebuild, with its line
