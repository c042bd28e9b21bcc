"""Reading what gemini-cli keeps of a conversation for itself (``~/.gemini/tmp/*/chats/session-*.jsonl``), 0.61."""

import re
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._json_stream import count, mapping, trace_time, unpriced, words
from agent_workflow.tracer.agents._own_record import RecordFile, find_file

SHELL: Final = "run_shell_command"
_REPORT_CHARACTERS: Final = 500
_DENIED: Final = re.compile(
    r"Tool execution (?:for \".*\" )?denied by policy|Tool execution blocked: |.*User denied execution", re.DOTALL
)
_ENDED_BADLY: Final = re.compile(r"^(?:Exit Code: [1-9]\d*|Signal: \S+)$", re.MULTILINE)


class GeminiSession:
    """One send's part of a session file, read as it grows.

    Attributes:
        is_kept: whether there is a place to look for the file.
        began_at: messages of a continued conversation that are older are another send's; empty when not known.
        file: that was found, ``None`` as long as there is none.
        model: that answered last, empty when it does not say.
    """

    def __init__(self, chats: Path | None) -> None:
        """Begin.

        Args:
            chats: folder below which the session files of all projects are, ``None`` to read none.
        """
        self.is_kept = chats is not None
        self.began_at = ""
        self.file: Path | None = None
        self.model = ""
        self._chats = chats
        self._records: RecordFile | None = None
        self._calls: dict[str, Usage] = {}
        self._failed: set[str] = set()

    @property
    def calls(self) -> list[Usage]:
        """Usage of each model call of this send."""
        return list(self._calls.values())

    def failed(self, call_id: str) -> bool:
        """Tell whether a shell command did not exit with 0."""
        return call_id in self._failed

    def refresh(self, session_id: str) -> None:
        """Read what has come since the last time."""
        if self._records is None and self._chats is not None:
            # The name has the beginning of the id alone; the first line has all of it.
            file = find_file(self._chats, "*/chats/session-*-{id}.jsonl", session_id[:8])
            first = next(RecordFile(file).new_records(), {}) if file else {}
            if file is None or first.get("sessionId") != session_id:
                return
            self.file, self._records = file, RecordFile(file)
        for record in self._records.new_records(b'"gemini"') if self._records else ():
            self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        identity = words(record.get("id"))
        at = trace_time(record.get("timestamp"))
        if record.get("type") != "gemini" or not identity or (at and at < self.began_at):
            return
        tokens = mapping(record.get("tokens"))
        if tokens:
            self._calls[identity] = gemini_usage(tokens)  # a message is written again when its tools have returned
        self.model = words(record.get("model")) or self.model
        calls = record.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if ended_badly(mapping(call)):
                self._failed.add(words(call.get("id")))


def ended_badly(call: dict[str, Any]) -> bool:
    """Tell whether a call is of a shell command that did not exit with 0, which counts as a success otherwise."""
    # What is added to the command's output for the model stands behind it, and there the codes.
    return call.get("name") == SHELL and _ENDED_BADLY.search(result_of(call)[-_REPORT_CHARACTERS:]) is not None


def result_of(call: dict[str, Any]) -> str:
    """Return what a tool said, or why it did not."""
    parts = call.get("result")
    for part in parts if isinstance(parts, list) else []:
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        return words(response.get("output")) or words(response.get("error"))
    return ""


def is_denial(call: dict[str, Any]) -> bool:
    """Tell whether a call was not allowed to run."""
    return call.get("status") != "success" and _DENIED.match(result_of(call)[:1_000]) is not None


def gemini_usage(tokens: dict[str, Any]) -> Usage:
    """Read a usage of gemini-cli: its input includes what came from the cache, its output not the thinking."""
    whole, cached, thoughts = (count(tokens.get(key)) for key in ("input", "cached", "thoughts"))
    # The prompts of the model's own tools are told apart from the input.
    parts = (max(0, whole - cached) + count(tokens.get("tool")), count(tokens.get("output")) + thoughts, cached, 0)
    return unpriced(parts, thoughts, as_int(tokens.get("total")))
