"""Reading what opencode keeps of its sessions for itself (``opencode.db``), 1.18."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._json_stream import count, mapping, trace_time, words
from agent_workflow.tracer.agents._opencode_parts import child_session, spend, tool_call
from agent_workflow.tracer.agents._protocol import ToolReturned

_BUSY_SECONDS: Final = 2.0
_MESSAGES: Final = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS: Final = "SELECT data FROM part WHERE message_id = ? ORDER BY time_created, id"


class OpencodeRecord:
    """One send's part of the database, read after opencode has ended.

    Attributes:
        file: that was read, ``None`` when it told nothing of the session.
        model: that answered last, as ``provider/id``.
        open_calls: tool calls that never came back.
        subagents: spend of sub-agents, ``None`` when there was none.
        nested_calls: tool calls of sub-agents.
    """

    def __init__(self) -> None:
        self.file: Path | None = None
        self.model = ""
        self.open_calls: list[ToolReturned] = []
        self.subagents: Usage | None = None
        self.nested_calls: list[ToolReturned] = []

    def read(self, file: Path, session_id: str, shown: Iterable[str], tasks: Mapping[str, dict[str, Any]]) -> None:
        """Read it; a database that is missing, busy or of another form tells nothing.

        Args:
            file: the database.
            session_id: of the conversation.
            shown: ids of the messages that the stream has shown.
            tasks: parts of the calls that sub-agents came back from, by the ids of their sessions.
        """
        with contextlib.suppress(sqlite3.Error, OSError, ValueError), _opened(file) as database:
            messages = _records(database.execute(_MESSAGES, [session_id]))
            for _, message in messages:
                self.model = _model(message) or self.model
            self.file = file if messages else None
            begun = dict(tasks)
            for identity in shown:
                for part in _parts(database, identity):
                    call = tool_call(part, "")
                    if call.interrupted:
                        self.open_calls.append(call)
                        begun.setdefault(child_session(part), part)
            for child, part in begun.items():
                self._take_child(database, child, part)

    def _take_child(self, database: sqlite3.Connection, session_id: str, task: dict[str, Any]) -> None:
        began = count(mapping(mapping(task.get("state")).get("time")).get("start"))
        for identity, message in _records(database.execute(_MESSAGES, [session_id])):
            # A sub-agent may have been begun by an earlier send, and gone on in this one.
            if message.get("role") != "assistant" or count(mapping(message.get("time")).get("created")) < began:
                continue
            self.subagents = (self.subagents or Usage(reasoning=0)) + spend(message)
            at = trace_time(mapping(message.get("time")).get("created"), "")
            parent = words(task.get("callID"))
            self.nested_calls.extend(tool_call(part, at, parent) for part in _parts(database, identity))


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    try:
        yield connection
    finally:
        connection.close()


def _records(rows: Iterable[tuple[str, str]]) -> list[tuple[str, dict[str, Any]]]:
    return [(identity, record) for identity, data in rows if (record := _decoded(data)) is not None]


def _parts(database: sqlite3.Connection, message: str) -> list[dict[str, Any]]:
    decoded = (_decoded(data) for (data,) in database.execute(_PARTS, [message]))
    return [part for part in decoded if part is not None and part.get("type") == "tool"]


def _decoded(data: object) -> dict[str, Any] | None:
    try:
        return decode_record(data.encode("utf-8", "replace")) if isinstance(data, str) else None
    except ValueError:
        return None


def _model(message: dict[str, Any]) -> str:
    names = (words(message.get("providerID")), words(message.get("modelID")))
    return "/".join(name for name in names if name) if message.get("role") == "assistant" else ""
