"""Names as the records of a run may hold them."""

import re


def agent_name(name: str) -> str:
    """Return an agent's name as a stage may be called; redaction may have put other characters into it."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-_.")[:128]
    return plain or "agent"


def joined(names: set[str]) -> str | None:
    """Name several of a kind in one word, ``None`` for none."""
    return "+".join(sorted(names))[:256] or None
