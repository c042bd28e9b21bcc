"""The prompts that a session's agents were sent, newest and of every send, read from its files."""

import os
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from agent_workflow.tracer._raw_files import list_files, read_text

_SEND: Final = re.compile(r"(?P<label>(?P<seq>\d+)_(?P<phase>.+)\.(?P<number>\d+))\.(?P<kind>system|user)\.md\Z")
_MAX_CHARACTERS: Final = 2_000_000


class Prompts(NamedTuple):
    """What an agent was told; ``None`` for what is not kept."""

    system: str | None
    user: str | None


def newest_prompts(session: Path, agent: str) -> Prompts:
    """Read the newest prompts of an agent; both ``None`` when it never ran."""
    return Prompts(
        *(read_text(session, (agent, "prompts", f"{kind}.md"), _MAX_CHARACTERS) for kind in ("system", "user"))
    )


def sends(session: Path, agent: str) -> list[dict[str, Any]]:
    """List the sends whose prompts are kept, in order; older tracers kept only the newest.

    Returns:
        Each with ``label``, ``seq`` and ``phase_name`` of its phase, ``number`` within it, and which texts there are.
    """
    found: dict[str, dict[str, Any]] = {}
    for file in list_files(session, (agent, "prompts")):
        match = _SEND.match(os.path.basename(file.path))  # noqa: PTH119 - a name, not a path of this machine
        if match is None:
            continue
        entry = found.setdefault(
            match["label"],
            {
                "label": match["label"],
                "seq": int(match["seq"]),
                "phase_name": match["phase"],
                "number": int(match["number"]),
                "has_system": False,
                "has_user": False,
                "sent_at": file.modified_at,
            },
        )
        entry[f"has_{match['kind']}"] = file.size > 0
    return sorted(found.values(), key=lambda entry: (entry["seq"], entry["number"]))


def prompts_of_send(session: Path, agent: str, label: str) -> Prompts:
    """Read the prompts of one send."""
    return Prompts(
        *(read_text(session, (agent, "prompts", f"{label}.{kind}.md"), _MAX_CHARACTERS) for kind in ("system", "user"))
    )
