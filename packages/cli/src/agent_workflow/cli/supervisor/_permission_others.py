"""pi's and opencode's streams: dialogs of extensions, and tool calls that were blocked before they ran."""

import re
from typing import Final

from agent_workflow.cli.supervisor._permission_facts import INTERACTION, access_of
from agent_workflow.cli.supervisor._permission_requests import Record, Requests
from agent_workflow.cli.supervisor.documents import inner, text

PI_NEEDLES: Final = (b'"extension_ui_request"', b'"tool_execution_start"', b'"tool_execution_end"')
OPENCODE_NEEDLES: Final = (
    b"rejected permission to use this specific tool call",
    b"prevents you from using this specific tool call",
)

_DIALOGS: Final = frozenset(["select", "confirm", "input", "editor"])
_BLOCKED: Final = re.compile(
    r"\b(?:block(?:ed)?|den(?:y|ied)|reject(?:ed)?|not (?:allowed|permitted)|forbidden)\b", re.IGNORECASE
)
_OWN_FAULTS: Final = re.compile(
    r"Tool .{1,200} not found|Validation failed for tool|Operation aborted|E[A-Z]{3,}\b", re.DOTALL
)
_OPENCODE_DENIED: Final = re.compile(
    r"The user rejected permission to use this specific tool call"
    r"|The user has specified a rule which prevents you from using this specific tool call"
)

_OVER: Final = frozenset(["turn_end", "agent_end", "agent_settled"])


def read_pi(record: Record, requests: Requests) -> None:
    """Take in one record of pi's JSON or RPC mode."""
    kind, call = text(record.get("type")), record.get("toolCallId")
    if kind == "extension_ui_request":
        _asked(record, requests)
    elif kind == "tool_execution_start":
        requests.newest_call = (call, record.get("toolName")) if isinstance(call, str) else None
        _settle_loose(requests)
    elif kind == "tool_execution_update":
        requests.settle(call)
    elif kind == "tool_execution_end":
        _ended(record, requests)
    elif kind in _OVER:
        requests.settle_all()
    elif kind != "response":
        _settle_loose(requests)


def _asked(record: Record, requests: Requests) -> None:
    if text(record.get("method")) not in _DIALOGS:
        return
    # An extension asks before it lets a call go on: the call that began last, as pi prepares one after the other.
    call, tool = requests.newest_call or (None, None)
    access = INTERACTION if call is None else access_of(tool)
    requests.ask(record.get("id"), access, "pi-extension-dialog/v1", alias=call)


def _settle_loose(requests: Requests) -> None:
    """Settle dialogs that hold up no tool call: pi went on."""
    requests.settle_all_but(frozenset(requests.aliases.values()))


def _ended(record: Record, requests: Requests) -> None:
    call = record.get("toolCallId")
    if requests.newest_call is not None and requests.newest_call[0] == call:
        requests.newest_call = None
    if _was_blocked(record, isinstance(call, str) and requests.is_open(call)):
        requests.refuse(call, access_of(record.get("toolName")), "pi-tool-blocked/v1")
    else:
        requests.settle(call)


def _was_blocked(record: Record, was_asked: bool) -> bool:
    # A call that ran has its duration, or a result of its tool's own; pi's own faults have neither.
    result = inner(record, "result")
    if record.get("isError") is not True or "durationMs" in record:
        return False
    if result.get("details") or "structuredContent" in result:
        return False
    told = _first_text(result.get("content"))
    if told is None or _OWN_FAULTS.match(told):
        return False
    return was_asked or _BLOCKED.search(told[:1000]) is not None


def _first_text(content: object) -> str | None:
    first = content[0] if isinstance(content, list) and content else None
    return text(first.get("text")) if isinstance(first, dict) else None


def read_opencode(record: Record, requests: Requests) -> None:
    """Take in one record of opencode's JSON mode."""
    part = inner(record, "part")
    told = text(inner(part, "state").get("error"))
    if record.get("type") == "tool_use" and told is not None and _OPENCODE_DENIED.match(told):
        requests.refuse(part.get("callID"), access_of(part.get("tool")), "opencode-permission-denied/v1")
