"""Claude Code's stream: tool requests on the control channel, refused tool results, the list at the end of a turn."""

import re
from typing import Final

from agent_workflow.cli.supervisor._permission_facts import NETWORK, READ, TOOL, WRITE, Access, access_of
from agent_workflow.cli.supervisor._permission_requests import Record, Requests
from agent_workflow.cli.supervisor.documents import inner, text

NEEDLES: Final = (
    b'"type":"tool_use"',
    b'"type": "tool_use"',
    b'"control_request"',
    b'"control_cancel_request"',
    b'"permission_denied"',
    b'"permission_denials"',
    b'"is_error":true',
    b'"is_error": true',
)

_REQUEST: Final = "claude-tool-request/v1"
_DENIED: Final = "claude-permission-denied/v1"

_REJECTED: Final = "The user doesn't want to proceed with this tool use."
_NOT_GRANTED: Final = re.compile(
    r"Claude requested permissions to (?P<what>write|edit|read|use) .*haven't granted it yet", re.DOTALL
)
_REFUSED: Final = re.compile(
    r"Permission to use (?P<tool>[A-Za-z0-9_.:-]{1,128}) .*has been denied\."
    r"|Permission (?:for this action was )?denied by "
    r"|File is in a (?:directory|location) that is denied by your permission settings"
    r"|[\w.-]{1,40} in '.*' was blocked\. For security, Claude Code may only ",
    re.DOTALL,
)
_ACCESSES: Final = {"write": WRITE, "edit": WRITE, "read": READ}


def read_claude(record: Record, requests: Requests) -> None:
    """Take in one record."""
    kind = record.get("type")
    if kind in ("assistant", "user"):
        for part in _parts(record):
            _spoken(part, requests)
    elif kind == "control_request":
        _requested(record, requests)
    elif kind == "control_cancel_request":
        requests.settle(record.get("request_id"))
    elif kind == "system" and record.get("subtype") == "permission_denied":
        requests.refuse(record.get("tool_use_id"), access_of(record.get("tool_name")), _DENIED)
    elif kind == "result":
        _ended(record, requests)


def _spoken(part: Record, requests: Requests) -> None:
    if part.get("type") == "tool_result":
        _returned(part, requests)
    elif part.get("type") == "tool_use" and isinstance(call := part.get("id"), str):
        requests.tools[call] = access_of(part.get("name"))


def _requested(record: Record, requests: Requests) -> None:
    request = inner(record, "request")
    if request.get("subtype") == "can_use_tool":
        access = access_of(request.get("tool_name"))
        requests.ask(request.get("tool_use_id"), access, _REQUEST, alias=record.get("request_id"))


def _returned(part: Record, requests: Requests) -> None:
    call, told = part.get("tool_use_id"), _text_of(part)
    if part.get("is_error") is not True:
        requests.settle(call)
    elif told.startswith(_REJECTED):
        # The same words follow an interruption of a tool that nobody was asked about.
        if isinstance(call, str) and requests.is_open(call):
            requests.refuse(call, TOOL, _DENIED)
    elif (access := _refused(told)) is not None:
        requests.refuse(call, access, _DENIED)
    else:
        # A person's own words may say no, or the tool failed: the list at the end of the turn tells which.
        requests.settle(call)


def _ended(record: Record, requests: Requests) -> None:
    denials = record.get("permission_denials")
    for denial in denials if isinstance(denials, list) else ():
        if isinstance(denial, dict):
            requests.refuse(denial.get("tool_use_id"), access_of(denial.get("tool_name")), _DENIED)
    requests.settle_all()


def _refused(told: str) -> Access | None:
    if (match := _NOT_GRANTED.match(told)) is not None:
        return _ACCESSES.get(match["what"], TOOL)
    match = _REFUSED.match(told)
    if match is None:
        return None
    if match["tool"]:
        return access_of(match["tool"])
    return NETWORK if "domain" in told[:80] else TOOL


def _parts(record: Record) -> list[Record]:
    content = inner(record, "message").get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _text_of(part: Record) -> str:
    content = part.get("content")
    if isinstance(content, list):
        texts = (text(item.get("text")) for item in content if isinstance(item, dict))
        content = next((found for found in texts if found), "")
    return (text(content) or "")[:4096]
