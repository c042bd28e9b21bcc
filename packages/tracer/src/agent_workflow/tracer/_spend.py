"""What a session has spent, recomputed from its events: a running sum cannot be checked."""

from decimal import Decimal

from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer._usage import spend_of

_AGENT_END = b'"agent_end"'


def recorded_spend(files: SessionFiles) -> tuple[int, Decimal | None]:
    """Sum up the ``agent_end`` events of a session.

    Returns:
        Tokens, and dollars or ``None`` when the price of one of them is not known.
    """
    tokens, cost = 0, Decimal(0)
    is_known = True
    with files.events.open("rb") as lines:
        for line in lines:
            if _AGENT_END not in line:
                continue
            try:
                record = decode_record(line)
            except ValueError:
                continue
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
