"""opencode's database, made up row by row."""

import json
import sqlite3
from pathlib import Path
from typing import Any


class Opencode:
    """opencode's database, as far as it is read."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.executescript(
            "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT, agent TEXT,"
            " time_created INTEGER, time_updated INTEGER);"
            "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,"
            " data TEXT);"
            "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,"
            " time_updated INTEGER, data TEXT);"
        )

    def session(self, identity: str, parent: str | None = None, agent: str = "build") -> None:
        """Begin a session."""
        row = (identity, parent, "/home/dev/repo", "1.18", agent, 1_000, 1_000)
        self.connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def message(self, session: str, identity: str, at: int, *parts: dict[str, Any], **told: Any) -> None:
        """Add a message with its parts."""
        data = json.dumps({"time": {"created": at, "completed": at + 5}, **told})
        self.connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (identity, session, at, at, data))
        for number, part in enumerate(parts):
            row = (f"{identity}p{number}", identity, session, at, at, json.dumps(part))
            self.connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)

    def answer(
        self, session: str, identity: str, at: int, tokens: int, *parts: dict[str, Any], finish: str, **more: Any
    ) -> None:
        """Add an answer."""
        spent = {"input": tokens, "output": 3, "reasoning": 2, "cache": {"read": 0, "write": 0}, "total": tokens + 5}
        told = {"role": "assistant", "providerID": "p", "modelID": "m", "cost": 0.5, "tokens": spent, "finish": finish}
        self.message(session, identity, at, *parts, **told, **more)
