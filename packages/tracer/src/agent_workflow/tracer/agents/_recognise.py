"""Telling which coding agent writes a stream."""

from collections.abc import Callable
from typing import Any, Final

from agent_workflow.tracer._json import decode_record

_CLAUDE_TYPES: Final = ("system", "assistant", "user", "result", "stream_event")


def recognise(first_lines: bytes) -> str | None:
    """Say which agent's stream begins like this.

    Args:
        first_lines: the beginning of stdout; a last line that is not whole yet is passed over, as are lines that are
            no JSON objects (warnings, for example).

    Returns:
        A name that ``coding_agent`` knows, ``None`` when nobody's mark has been seen so far.
    """
    for line in first_lines.split(b"\n"):
        try:
            record = decode_record(line)
        except ValueError:
            continue
        for name, is_its in _MARKS.items():
            if is_its(record):
                return name
    return None


def _is_text(record: dict[str, Any], key: str) -> bool:
    return isinstance(record.get(key), str)


def _is_claude(record: dict[str, Any]) -> bool:
    return record.get("type") in _CLAUDE_TYPES and _is_text(record, "session_id")


def _is_codex(record: dict[str, Any]) -> bool:
    return record.get("type") == "thread.started" and _is_text(record, "thread_id")


def _is_pi(record: dict[str, Any]) -> bool:
    return record.get("type") == "session" and _is_text(record, "id") and "version" in record


def _is_gemini(record: dict[str, Any]) -> bool:
    return record.get("type") == "init" and _is_text(record, "session_id") and _is_text(record, "timestamp")


def _is_opencode(record: dict[str, Any]) -> bool:
    return _is_text(record, "type") and _is_text(record, "sessionID")


_MARKS: Final[dict[str, Callable[[dict[str, Any]], bool]]] = {
    "claude_code": _is_claude,
    "codex": _is_codex,
    "pi": _is_pi,
    "gemini": _is_gemini,
    "opencode": _is_opencode,
}
