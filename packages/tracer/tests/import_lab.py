"""Session files of coding agents, made up line by line, and what an import of them comes to."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer.importing import ImportReport, import_sessions

FIRST = "1b1c60c2-0b2f-4f86-8c4e-0f0c4c3f7a11"
SECOND = "2c2d71d3-1c30-4a97-9d5f-1a1d5d40ab22"


def moment(seconds: float) -> str:
    """Write a time some seconds into the day, as the agents do."""
    whole = int(seconds)
    return f"2026-03-01T{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{int(seconds % 1 * 1000):03d}Z"


def lines(*records: dict[str, Any]) -> bytes:
    """Write records as lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def prompt(session: str, text: str, at: float, **more: Any) -> dict[str, Any]:
    """A prompt in one of Claude Code's transcripts."""
    message = {"role": "user", "content": text}
    head = {"type": "user", "sessionId": session, "uuid": f"prompt {text} {at}", "timestamp": moment(at)}
    return {**head, "cwd": "/home/dev/repo", "version": "2.1", "message": message, **more}


def answer(
    session: str, identity: str, at: float, *blocks: dict[str, Any], spent: tuple[int, ...] = (10, 5), **more: Any
) -> dict[str, Any]:
    """A line of a message; without blocks it is the end of a turn."""
    keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage = {**dict.fromkeys(keys, 0), **dict(zip(keys, spent, strict=False))}
    stop_reason = "tool_use" if blocks else "end_turn"
    message: dict[str, Any] = {"id": identity, "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
    content: list[dict[str, Any]] = [*blocks] or [{"type": "text", "text": "Done."}]
    message |= {"content": content, "stop_reason": stop_reason}
    head = {"type": "assistant", "sessionId": session, "uuid": f"{identity} {at}", "timestamp": moment(at)}
    return {**head, "requestId": f"req {identity}", "message": message, **more}


def tool_use(call: str, command: str = "ls") -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}


def returned(session: str, call: str, at: float, *, is_error: bool = False, **more: Any) -> dict[str, Any]:
    """The line in which a tool returns."""
    content = [{"type": "tool_result", "tool_use_id": call, "content": f"of {call}", "is_error": is_error}]
    head = {"type": "user", "sessionId": session, "uuid": f"result {call} {at}", "timestamp": moment(at)}
    return {**head, "message": {"role": "user", "content": content}, **more}


class Trace:
    """A trace that is imported into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "sssf.db"

    def take(self, *paths: Path, **options: Any) -> ImportReport:
        """Import."""
        return import_sessions(paths, self.db, self.folder, **options)

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Ask the database."""
        connection = sqlite3.connect(self.db)
        try:
            return connection.execute(statement, parameters).fetchall()
        finally:
            connection.close()

    def tables(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows, sorted."""
        return {
            table: sorted(self.rows(f"SELECT {', '.join(TABLES[table].columns)} FROM {table}"), key=repr)
            for table in TABLES
        }

    def tokens(self) -> dict[str, int]:
        """Return the tokens of each session."""
        return dict(self.rows("SELECT adw_id, total_tokens FROM sessions"))

    def statuses(self) -> dict[str, str]:
        """Return the status of each session."""
        return dict(self.rows("SELECT adw_id, status FROM sessions"))

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of all events of a type, by time."""
        found = self.rows("SELECT payload_json FROM events WHERE type = ? ORDER BY started_at, rowid", kind)
        return [json.loads(payload) for (payload,) in found]

    def raw_tokens(self) -> int:
        """Count every line that tells of usage."""
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        return sum(group[name] for end in self.payloads("agent_end") for group in end["raw"] for name in names)
