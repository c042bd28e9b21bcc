"""Streams of agents that ask for permissions, in the shapes of the real programs, and what must be seen in each."""

from typing import Any

Record = dict[str, Any]


def tool_use(call: str, tool: str) -> Record:
    """Claude Code calls a tool."""
    part = {"type": "tool_use", "id": call, "name": tool, "input": {"command": "SECRET rm -rf /srv"}}
    return {"type": "assistant", "message": {"role": "assistant", "content": [part]}}


def can_use(call: str, tool: str, request: str = "r") -> Record:
    """Claude Code asks over its control channel whether a tool may be used."""
    asked = {"subtype": "can_use_tool", "tool_name": tool, "input": {"command": "SECRET"}, "tool_use_id": call}
    return {"type": "control_request", "request_id": request, "request": asked}


def result(call: str, told: str, *, is_error: bool) -> Record:
    """What came back for a tool call of Claude Code."""
    part = {"type": "tool_result", "content": told, "is_error": is_error, "tool_use_id": call}
    return {"type": "user", "message": {"role": "user", "content": [part]}}


def end(*denied: tuple[str, str]) -> Record:
    """Claude Code's turn ended, with the calls that were denied."""
    denials = [{"tool_use_id": call, "tool_name": tool, "tool_input": {"x": "SECRET"}} for call, tool in denied]
    return {"type": "result", "subtype": "success", "permission_denials": denials}


def approval(kind: str, item: str, number: int, **more: object) -> Record:
    """Codex's app server asks for an approval."""
    parameters = {"threadId": "t", "itemId": item, "command": "SECRET", "cwd": "/srv", **more}
    return {"method": f"item/{kind}/requestApproval", "id": number, "params": parameters}


def resolved(number: int) -> Record:
    """A request of Codex's app server was answered."""
    return {"method": "serverRequest/resolved", "params": {"threadId": "t", "requestId": number}}


def item(item: str, kind: str, status: str) -> Record:
    """Codex's app server completed an item."""
    return {"method": "item/completed", "params": {"item": {"type": kind, "id": item, "status": status}}}


def msg(kind: str, **more: object) -> Record:
    """An event of Codex's older protocol."""
    return {"id": "7", "msg": {"type": kind, **more}}


def pi(kind: str, call: str = "c1", tool: str = "bash", **more: object) -> Record:
    """A record of a tool call of pi."""
    return {"type": f"tool_execution_{kind}", "toolCallId": call, "toolName": tool, **more}


def dialog(method: str = "select", request: str = "d1") -> Record:
    """An extension of pi asks or says something."""
    return {"type": "extension_ui_request", "id": request, "method": method, "title": "SECRET allow?"}


def blocked(told: str, call: str = "c1", **more: object) -> Record:
    """A tool call of pi ended in an error without having run."""
    outcome = {"content": [{"type": "text", "text": told}], "details": {}}
    return {**pi("end", call), "result": outcome, "isError": True, **more}


NOT_GRANTED = "Claude requested permissions to write to /srv/x, but you haven't granted it yet."
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
RAN = {"content": [], "structuredContent": {"output": ""}}

P, D, C = "pending", "denied", "cleared"
BASH, WRITE, SHELL = ("execute", "Bash"), ("write", "Write"), ("execute", None)

CASES: dict[str, tuple[str, list[Record], list[tuple[str, str, str | None]]]] = {
    "claude waits": ("claude", [tool_use("a", "Bash"), can_use("a", "Bash")], [(P, *BASH)]),
    "claude was allowed": (
        "claude",
        [can_use("a", "Bash"), result("a", "done", is_error=False)],
        [(P, *BASH), (C, *BASH)],
    ),
    "claude was told no": (
        "claude",
        [can_use("a", "Bash"), result("a", REJECTED, is_error=True), end(("a", "Bash"))],
        [(P, *BASH), (D, *BASH)],
    ),
    "claude was told no in other words": (
        "claude",
        [can_use("a", "Write"), result("a", "not here", is_error=True), end(("a", "Write"))],
        [(P, *WRITE), (C, *WRITE), (D, *WRITE)],
    ),
    "claude's request was called off": (
        "claude",
        [can_use("a", "Bash", "r9"), {"type": "control_cancel_request", "request_id": "r9"}],
        [(P, *BASH), (C, *BASH)],
    ),
    "claude's turn ended": ("claude", [can_use("a", "Bash"), end()], [(P, *BASH), (C, *BASH)]),
    "claude has no answer for the second": (
        "claude",
        [can_use("a", "Bash"), can_use("b", "mcp__db__query", "s"), result("a", "", is_error=False)],
        [(P, *BASH), (P, "tool", "mcp__db__query"), (C, *BASH)],
    ),
    "claude may not write": (
        "claude",
        [tool_use("a", "Write"), result("a", NOT_GRANTED, is_error=True), end(("a", "Write"))],
        [(D, *WRITE)],
    ),
    "claude may not, its call is not in sight": (
        "claude",
        [result("a", NOT_GRANTED, is_error=True)],
        [(D, "write", None)],
    ),
    "claude is denied by a rule": (
        "claude",
        [result("a", "Permission to use Bash with command SECRET has been denied.", is_error=True)],
        [(D, *BASH)],
    ),
    "claude reports a denial": (
        "claude",
        [{"type": "system", "subtype": "permission_denied", "tool_name": "WebFetch", "tool_use_id": "a"}],
        [(D, "network", "WebFetch")],
    ),
    "claude denials are listed at the end alone": ("claude", [end(("a", "Bash"))], [(D, *BASH)]),
    "claude was interrupted": ("claude", [tool_use("a", "Bash"), result("a", REJECTED, is_error=True), end()], []),
    "claude's tool failed": ("claude", [result("a", f"Exit code 1\n{NOT_GRANTED}", is_error=True), end()], []),
    "claude read such a text": ("claude", [result("a", NOT_GRANTED, is_error=False), end()], []),
    "codex waits": ("codex", [approval("commandExecution", "i", 0)], [(P, *SHELL)]),
    "codex was allowed": (
        "codex",
        [approval("commandExecution", "i", 0), resolved(0), item("i", "commandExecution", "completed")],
        [(P, *SHELL), (C, *SHELL)],
    ),
    "codex was told no": (
        "codex",
        [approval("fileChange", "i", 1), resolved(1), item("i", "fileChange", "declined")],
        [(P, "write", None), (C, "write", None), (D, "write", None)],
    ),
    "codex asks for the network": (
        "codex",
        [approval("commandExecution", "i", 2, networkApprovalContext={"host": "SECRET"})],
        [(P, "network", None)],
    ),
    "codex numbers its requests as others name their items": (
        "codex",
        [approval("commandExecution", "0", 1), approval("fileChange", "1", 2), item("1", "fileChange", "completed")],
        [(P, *SHELL), (P, "write", None), (C, "write", None)],
    ),
    "codex's turn was cut": (
        "codex",
        [approval("permissions", "i", 3), {"method": "turn/completed", "params": {}}],
        [(P, "tool", None), (C, "tool", None)],
    ),
    "older codex": (
        "codex",
        [msg("exec_approval_request", call_id="x"), msg("exec_command_begin", call_id="x")],
        [(P, *SHELL), (C, *SHELL)],
    ),
    "older codex, stopped": (
        "codex",
        [msg("apply_patch_approval_request", call_id="x"), msg("turn_aborted")],
        [(P, "write", None), (C, "write", None)],
    ),
    "codex exec declined": (
        "codex",
        [{"type": "item.completed", "item": {"id": "item_1", "type": "command_execution", "status": "declined"}}],
        [(D, *SHELL)],
    ),
    "codex rollout": (
        "codex",
        [
            {
                "type": "response_item",
                "payload": {"type": "custom_tool_call_output", "call_id": "p", "output": "patch rejected: read-only"},
            }
        ],
        [(D, "write", None)],
    ),
    "codex read such a text": (
        "codex",
        [{"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": '"declined" exec command'}}],
        [],
    ),
    "pi waits": ("pi", [pi("start"), dialog()], [(P, "execute", "bash")]),
    "pi was allowed": (
        "pi",
        [pi("start"), dialog(), pi("end", result=RAN, isError=False, durationMs=3)],
        [(P, "execute", "bash"), (C, "execute", "bash")],
    ),
    "pi was told no": (
        "pi",
        [pi("start"), dialog("confirm"), blocked("No.")],
        [(P, "execute", "bash"), (D, "execute", "bash")],
    ),
    "pi still waits while another tool ends": (
        "pi",
        [pi("start", "c0"), pi("start"), dialog(), pi("end", "c0", result=RAN, isError=False, durationMs=3)],
        [(P, "execute", "bash")],
    ),
    "pi still waits when something was queued": (
        "pi",
        [pi("start"), dialog(), {"type": "queue_update"}],
        [(P, "execute", "bash")],
    ),
    "pi asks outside of a call": (
        "pi",
        [dialog("input"), {"type": "turn_start"}],
        [(P, "executor_interaction", None), (C, "executor_interaction", None)],
    ),
    "pi says something only": ("pi", [pi("start"), dialog("notify"), dialog("setStatus")], []),
    "pi blocked by itself": ("pi", [blocked("Dangerous command blocked")], [(D, "execute", "bash")]),
    "pi's tool ran and failed": ("pi", [blocked("open: permission denied", durationMs=4)], []),
    "pi's extension failed": ("pi", [blocked("The extension broke")], []),
    "pi knows no such tool": ("pi", [blocked("Tool blocked not found")], []),
    "pi got bad arguments": ("pi", [blocked('Validation failed for tool "bash":\n denied')], []),
    "older pi's tool failed": ("pi", [blocked("EACCES: permission denied, open '/srv/x'")], []),
    "opencode rejected": (
        "opencode",
        [
            {
                "type": "tool_use",
                "part": {
                    "tool": "bash",
                    "callID": "c",
                    "state": {"error": "The user rejected permission to use this specific tool call."},
                },
            }
        ],
        [(D, "execute", "bash")],
    ),
    "a tool's name that is none": ("claude", [can_use("a", "rm -rf /srv")], [(P, "tool", None)]),
}
"""By name: whose stream it is, its records, and the state, operation and tool of every observation."""
