"""Tool calls that an agent's stream opened and did not close: then it works, however silent it is."""

from collections.abc import Callable, Iterable
from typing import Any

from agent_workflow.cli.supervisor.documents import parse

_PI = (b'"tool_execution_', b'"agent_start"', b'"agent_end"', b'"turn_end"', b'"session"')
_CLAUDE = (b'"tool_use"', b'"tool_result"', b'"result"')
_CODEX = (b'"item.', b'"turn.', b'"exec_command_', b'"mcp_tool_call_')
Open = dict[str, str | None]
"""Calls that did not come back, by id, each with the call whose sub-agent made it."""

_CODEX_TOOLS = ("command_execution", "mcp_tool_call", "web_search", "file_change", "collab_tool_call")


def is_known(agent: str | None) -> bool:
    """Tell whether the stream of an agent says which of its tools run."""
    return agent in _READERS


def open_tool_calls(agent: str | None, data: bytes) -> frozenset[str]:
    """Return the ids of the calls that are open at the end of a stream.

    Args:
        agent: ``pi``, ``claude`` or ``codex``; of any other nothing is known.
        data: whole lines at the end of its JSON stream; a last line without newline waits.
    """
    known = _READERS.get(agent or "")
    if known is None:
        return frozenset()
    needles, read = known
    is_open: Open = {}
    for line in data.split(b"\n")[:-1]:
        if not any(needle in line for needle in needles):
            continue
        try:
            record = parse(line)
        except ValueError:
            continue
        read(record, is_open)
    return frozenset(is_open)


def _read_pi(record: dict[str, Any], is_open: Open) -> None:
    kind, call = record.get("type"), str(record.get("toolCallId"))
    if kind in ("tool_execution_start", "tool_execution_update"):
        is_open[call] = None
    elif kind == "tool_execution_end":
        is_open.pop(call, None)
    elif kind in ("session", "agent_start", "agent_end", "turn_end"):
        is_open.clear()


def _read_claude(record: dict[str, Any], is_open: Open) -> None:
    if record.get("type") == "result":
        is_open.clear()
    for part in _content(record):
        if part.get("type") == "tool_use":
            above = record.get("parent_tool_use_id")
            is_open[str(part.get("id"))] = None if above is None else str(above)
        elif part.get("type") == "tool_result":
            _close(str(part.get("tool_use_id")), is_open)


def _close(call: str, is_open: Open) -> None:
    """Close a call and what its sub-agent left open: it has ended, however its own last calls did."""
    closing = [call]
    while closing:
        closed = closing.pop()
        is_open.pop(closed, None)
        closing += [inside for inside, above in is_open.items() if above == closed]


def _content(record: dict[str, Any]) -> Iterable[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _read_codex(record: dict[str, Any], is_open: Open) -> None:
    inner = record.get("msg")
    event: dict[str, Any] = inner if isinstance(inner, dict) else record
    kind = str(event.get("type"))
    item = event.get("item")
    if kind == "item.started" and isinstance(item, dict) and item.get("type") in _CODEX_TOOLS:
        is_open[str(item.get("id"))] = None
    elif kind == "item.completed" and isinstance(item, dict):
        is_open.pop(str(item.get("id")), None)
    elif kind in ("exec_command_begin", "mcp_tool_call_begin"):
        is_open[str(event.get("call_id"))] = None
    elif kind in ("exec_command_end", "mcp_tool_call_end"):
        is_open.pop(str(event.get("call_id")), None)
    elif kind in ("turn.completed", "turn.failed", "turn.started"):
        is_open.clear()


_Reader = Callable[[dict[str, Any], Open], None]
_READERS: dict[str, tuple[tuple[bytes, ...], _Reader]] = {
    "pi": (_PI, _read_pi),
    "claude": (_CLAUDE, _read_claude),
    "codex": (_CODEX, _read_codex),
}
