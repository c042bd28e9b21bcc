"""What is said about a permission: the observation, and the words for what a tool would do."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, NamedTuple

State = Literal["pending", "denied", "cleared"]

_REMEDIATION: Final[dict[State, str]] = {"pending": "human_required", "denied": "policy_review", "cleared": "none"}
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}\Z")


class Access(NamedTuple):
    """What would be done, to what kind of thing, with which tool; a tool whose name is not known is ``None``."""

    operation: str
    resource_class: str
    target: str | None = None


INTERACTION: Final = Access("executor_interaction", "unknown")
"""A question to a person of which only that is known."""

EXECUTE: Final = Access("execute", "command")
WRITE: Final = Access("write", "file")
READ: Final = Access("read", "file")
NETWORK: Final = Access("network", "network")
TOOL: Final = Access("tool", "tool")
MCP: Final = Access("tool", "mcp")

_KINDS: Final = {
    **dict.fromkeys(("bash", "bashoutput", "killshell", "shell", "exec_command", "write_stdin"), EXECUTE),
    **dict.fromkeys(("write", "edit", "multiedit", "notebookedit", "apply_patch"), WRITE),
    **dict.fromkeys(("read", "glob", "grep", "ls", "find"), READ),
    **dict.fromkeys(("webfetch", "websearch"), NETWORK),
}


@dataclass(frozen=True, slots=True)
class Observation:
    """A permission that was asked for, refused or settled.

    Attributes:
        operation: execute, write, read, network, tool, or executor_interaction where only the question is known.
        resource_class: command, file, network, mcp, tool, or unknown.
        target: the name of the tool, else ``None``; never the text of a command, a path or a prompt.
        requested_access: what is asked of a person, ``None`` where nothing is.
        state: ``cleared`` stands for a request that nobody waits for any more, whatever the answer was.
        policy_rule_id: which of our rules recognised it, with the rule's version.
        remediation_class: ``human_required``, ``policy_review`` after a refusal, ``none``.
        evidence_sha256: of the recognised text. In a stream that is the id of the request, so that a request has one
            digest while it is pending, denied and cleared, however much of the stream is read; elsewhere it is the
            prompt or the line as it is seen, without the mark of the chosen answer.
        position: byte offset in the data of the record or line that says so; 0 in a terminal, whose text moves.
    """

    operation: str
    resource_class: str
    target: str | None
    requested_access: str | None
    state: State
    policy_rule_id: str
    remediation_class: str
    evidence_sha256: str
    position: int


def observation(access: Access, state: State, rule: str, evidence: str | bytes, position: int) -> Observation:
    """Make an observation out of what was recognised."""
    recognised = evidence if isinstance(evidence, bytes) else evidence.encode("utf-8", "surrogatepass")
    return Observation(
        operation=access.operation,
        resource_class=access.resource_class,
        target=access.target,
        requested_access="manual approval" if state == "pending" else None,
        state=state,
        policy_rule_id=rule,
        remediation_class=_REMEDIATION[state],
        evidence_sha256=sha256(recognised).hexdigest(),
        position=position,
    )


def access_of(tool: object) -> Access:
    """Tell what a tool would do, from its name alone; a name that could be a command or a path is left out."""
    if not isinstance(tool, str) or not _TOOL_NAME.match(tool):
        return TOOL
    kind = MCP if tool.startswith("mcp__") else _KINDS.get(tool.lower(), TOOL)
    return kind._replace(target=tool)
