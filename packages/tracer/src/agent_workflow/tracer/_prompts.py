"""Rendering what is sent to an agent, and keeping every piece of it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agent_workflow.tracer._errors import ConfigError
from agent_workflow.tracer._redaction import Redactor

if TYPE_CHECKING:
    from agent_workflow.tracer._envelopes import EnvelopeBase

_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class SavedPrompt(NamedTuple):
    """The files of one send."""

    system: Path
    user: Path


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill ``{{name}}`` placeholders; a name without a value stays as it is, so that it can be seen."""
    return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), template)


def read_template(path: Path) -> str:
    """Read a prompt file of the configuration.

    Raises:
        ConfigError: it cannot be read, or is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", path=path) from error


def previous_envelope(envelope: "EnvelopeBase | None") -> str:
    """Write the envelope of the agent before as a prompt shows it."""
    return "none" if envelope is None else envelope.model_dump_json(indent=2)


def output_instructions(output_type: "type[EnvelopeBase]") -> str:
    """Tell an agent what its last message must be."""
    schema = output_type.model_json_schema()
    fields = {name: _kind(entry) for name, entry in schema.get("properties", {}).items()}
    return (
        f"End with one JSON object ({output_type.__name__}) and nothing after it. Its fields:\n"
        f"{json.dumps(fields, indent=2)}\n"
        "List in artifacts the files you made or changed, relative to the repository."
    )


def correction(faults: list[str]) -> str:
    """Ask again in the same conversation, saying what was wrong."""
    listed = "\n".join(f"- {fault}" for fault in faults)
    return (
        f"Your last reply was not accepted:\n{listed}\n"
        "Put this right, then answer with the complete JSON object again and nothing after it."
    )


def save_prompt(folder: Path, label: str, system: str, user: str, redactor: Redactor) -> SavedPrompt:
    """Keep what is sent: under a name of its own, and as the newest, where viewers look for it.

    Args:
        folder: ``<agent>/prompts`` of the session.
        label: of this send, unique in the folder.
        system: the text that says who the agent is.
        user: the text that says what to do.
        redactor: keeps secrets out of the copies.

    Returns:
        The copies of this send.

    Raises:
        OSError: they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    saved = SavedPrompt(folder / f"{label}.system.md", folder / f"{label}.user.md")
    for kept, newest, text in ((saved.system, "system.md", system), (saved.user, "user.md", user)):
        data = redactor.text(text).encode("utf-8", "replace")
        kept.write_bytes(data)
        (folder / newest).write_bytes(data)
    return saved


def _kind(entry: Mapping[str, Any]) -> str:
    if "enum" in entry:
        return " or ".join(json.dumps(value) for value in entry["enum"])
    if entry.get("type") == "array":
        return f"list of {entry.get('items', {}).get('type', 'anything')}"
    return str(entry.get("type", "anything"))
