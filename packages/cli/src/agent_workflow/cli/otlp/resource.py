"""Who recorded a session: service, host and process, as attributes of a resource."""

import hashlib
import socket
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agent_workflow.cli.otlp.span import Attributes

SCOPE = "agent_workflow.cli.otlp"
CONVENTIONS = "gen-ai 0.1.0"
"""Release of the GenAI conventions that the names are taken from; they are still in development."""

_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def resource_attributes(process: Mapping[str, Any] | None) -> Attributes:
    """Describe what recorded a session.

    Args:
        process: the workflow's own row of ``processes``, where there is one; its command stays here.
    """
    attributes: Attributes = {
        "service.name": "agent-workflow",
        "service.version": version("agent-workflow-cli"),
        "host.id": host_id(),
        "agent_workflow.conventions": CONVENTIONS,
    }
    if process is not None and isinstance(pid := process.get("pid"), int) and pid > 0:
        attributes["process.pid"] = pid
        if isinstance(started := process.get("started_at"), str) and started:
            attributes["process.creation.time"] = started
    return attributes


def host_id() -> str:
    """Return an id of this machine that stays the same: a hash, because the machine's own id is nobody else's."""
    return hashlib.sha256(f"agent-workflow host\0{_machine()}".encode()).hexdigest()[:32]


def _machine() -> str:
    for name in _MACHINE_IDS:
        try:
            found = Path(name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if found:
            return found
    return socket.gethostname()
