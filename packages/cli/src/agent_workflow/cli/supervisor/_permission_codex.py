"""Codex's streams: approval requests of the app server and of older protocols, items and outputs that were declined."""

import re
from typing import Final

from agent_workflow.cli.supervisor._permission_facts import EXECUTE, INTERACTION, MCP, NETWORK, TOOL, WRITE, Access
from agent_workflow.cli.supervisor._permission_requests import Record, Requests
from agent_workflow.cli.supervisor.documents import inner

NEEDLES: Final = (
    b'/requestApproval"',
    b'"execCommandApproval"',
    b'"applyPatchApproval"',
    b'"mcpServer/elicitation/request"',
    b'"item/tool/requestUserInput"',
    b'_approval_request"',
    b'"declined"',
    b'call_output"',
)

_REQUEST: Final = "codex-approval-request/v1"
_DENIED: Final = "codex-declined/v1"

_METHODS: Final = {
    "item/commandExecution/requestApproval": EXECUTE,
    "item/fileChange/requestApproval": WRITE,
    "item/permissions/requestApproval": TOOL,
    "item/tool/requestUserInput": INTERACTION,
    "mcpServer/elicitation/request": MCP,
    "execCommandApproval": EXECUTE,
    "applyPatchApproval": WRITE,
}
_EVENTS: Final = {"exec_approval_request": EXECUTE, "apply_patch_approval_request": WRITE}
_ITEMS: Final = {
    "commandExecution": EXECUTE,
    "command_execution": EXECUTE,
    "fileChange": WRITE,
    "file_change": WRITE,
    "mcpToolCall": MCP,
    "mcp_tool_call": MCP,
}
_ANSWERED: Final = frozenset(
    ["exec_command_begin", "exec_command_end", "patch_apply_begin", "patch_apply_end", "mcp_tool_call_begin"]
)
_OVER: Final = frozenset(
    [
        "turn/completed",
        "turn.completed",
        "turn.failed",
        "task_complete",
        "turn_aborted",
        "turn_complete",
        "thread/closed",
    ]
)
_OUTPUTS: Final = frozenset(["function_call_output", "custom_tool_call_output"])
_REJECTED: Final = re.compile(
    r"(?P<patch>patch rejected\b)|exec command rejected\b|approval policy is \w+; reject command\b|rejected by user\b"
)


def read_codex(record: Record, requests: Requests) -> None:
    """Take in one record of ``exec --json``, of the app server, of the older protocol or of a rollout."""
    method = record.get("method")
    if isinstance(method, str):
        _of_app_server(method, record, requests)
        return
    event = inner(record, "msg") or inner(record, "payload") or record
    kind = event.get("type")
    if not isinstance(kind, str):
        return
    if kind in _EVENTS:
        requests.ask(event.get("call_id"), _EVENTS[kind], _REQUEST, alias=record.get("id"))
    elif kind in _ANSWERED:
        requests.settle(event.get("call_id"))
    elif kind in _OUTPUTS:
        _returned(event, requests)
    elif kind in _OVER:
        requests.settle_all()
    elif kind == "item.completed":
        _completed(inner(event, "item"), requests)


def _of_app_server(method: str, record: Record, requests: Requests) -> None:
    parameters = inner(record, "params")
    if method in _METHODS:
        call = parameters.get("itemId") or parameters.get("callId")
        # Its number is the only name by which the answer to a request is known.
        requests.ask(call, _access(method, parameters), _REQUEST, alias=_request_name(record.get("id")))
    elif method == "serverRequest/resolved":
        requests.settle(_request_name(parameters.get("requestId")))
    elif method == "item/completed":
        _completed(inner(parameters, "item"), requests)
    elif method in _OVER:
        requests.settle_all()


def _access(method: str, parameters: Record) -> Access:
    return NETWORK if parameters.get("networkApprovalContext") else _METHODS[method]


def _request_name(number: object) -> str | None:
    """Name a JSON-RPC request, so that its number is not taken for the id of an item."""
    if isinstance(number, bool) or not isinstance(number, str | int):
        return None
    return f"request {number}"


def _completed(item: Record, requests: Requests) -> None:
    kind, call = item.get("type"), item.get("id")
    if item.get("status") == "declined":
        requests.refuse(call, _ITEMS.get(kind, TOOL) if isinstance(kind, str) else TOOL, _DENIED)
    else:
        requests.settle(call)


def _returned(output: Record, requests: Requests) -> None:
    told = output.get("output")
    if isinstance(told, dict):
        told = told.get("content")
    match = _REJECTED.match(told) if isinstance(told, str) else None
    if match is None:
        requests.settle(output.get("call_id"))
        return
    requests.refuse(output.get("call_id"), WRITE if match["patch"] else EXECUTE, _DENIED)
