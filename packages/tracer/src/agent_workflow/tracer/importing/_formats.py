"""Whose session file something is, and where each agent keeps its own."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer.agents._json_stream import words
from agent_workflow.tracer.agents._places import (
    claude_folder,
    codex_folder,
    gemini_folder,
    opencode_database,
    pi_folder,
)
from agent_workflow.tracer.importing._claude import ClaudeReader
from agent_workflow.tracer.importing._codex import CodexReader
from agent_workflow.tracer.importing._gemini import GeminiReader
from agent_workflow.tracer.importing._items import MAIN, SessionFacts
from agent_workflow.tracer.importing._opencode import OpencodeReader
from agent_workflow.tracer.importing._opencode_database import is_named_as_database
from agent_workflow.tracer.importing._pi import PiReader
from agent_workflow.tracer.importing._reading import SessionReader

READERS: Final[dict[str, type[SessionReader]]] = {
    reader.agent: reader for reader in (ClaudeReader, CodexReader, GeminiReader, OpencodeReader, PiReader)
}
_SUFFIXES: Final = (".jsonl", ".json")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_CLAUDE_TYPES: Final = frozenset(
    [
        "user",
        "assistant",
        "system",
        "summary",
        "attachment",
        "queue-operation",
        "file-history-snapshot",
        "last-prompt",
        "mode",
    ]
)
_FIRST_LINES: Final = 50
_MOST_HEADING: Final = 2_000
_MOST_BEGINNING: Final = 256 * 1024
_BESIDE_CLAUDE: Final = (".meta.json",)


def discover(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return where the agents keep their sessions: folders and opencode's database, those that are there.

    Args:
        environment: of this process by default; ``CLAUDE_CONFIG_DIR``, ``CODEX_HOME``, ``GEMINI_CLI_HOME`` and
            ``PI_CODING_AGENT_DIR``, ``XDG_DATA_HOME`` and ``OPENCODE_DB`` move an agent's.
    """
    told = os.environ if environment is None else environment
    folders = [
        claude_folder(told) / "projects",
        codex_folder(told) / "sessions",
        codex_folder(told) / "archived_sessions",
        gemini_folder(told) / "tmp",
        pi_folder(told) / "sessions",
    ]
    return [*filter(Path.is_dir, folders), *filter(Path.is_file, [opencode_database(told)])]


def session_files(paths: Iterable[Path], unreadable: list[str]) -> Iterator[os.DirEntry[str] | Path]:
    """Yield the files that may be sessions, each folder in the order of names; links to folders are not followed.

    Args:
        paths: files, taken as they are, and folders.
        unreadable: gets a sentence for each folder that cannot be listed.
    """
    for path in paths:
        if path.is_dir():
            yield from _below(str(path), unreadable)
        else:
            yield path


def _below(folder: str, unreadable: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        unreadable.append(f"{folder}: cannot be listed: {error.strerror}")
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, unreadable)
        elif _may_be_session(entry.name):
            yield entry


def _may_be_session(name: str) -> bool:
    return (name.endswith(_SUFFIXES) and not name.endswith(_BESIDE_CLAUDE)) or is_named_as_database(name)


def reader_for(path: Path, beginning: bytes) -> SessionReader | None:
    """Return a fresh reader for a file, ``None`` when it is nobody's session.

    Args:
        path: of the file; where it lies may say which session and which sub-agent it is of.
        beginning: of its content, at least the first line unless that is very long.
    """
    agent = recognise_session(beginning)
    if agent is None:
        return None
    facts = _claude_facts(path) if agent == "claude_code" else SessionFacts(agent)
    return READERS[agent](facts=facts)


def refresh(facts: SessionFacts, path: Path) -> None:
    """Take again what lies beside a file, which may have come after its beginning was read."""
    if facts.agent == "claude_code" and facts.lane != MAIN:
        now = _claude_facts(path)
        facts.labels |= now.labels
        facts.parent_calls |= now.parent_calls


def recognise_session(beginning: bytes) -> str | None:
    """Say which agent's session file begins like this; streams of agents are none."""
    if beginning[:1] == b"{" and b'"sessionID"' in beginning[:_MOST_BEGINNING] and b'"messages"' in beginning:
        return "opencode"
    if b'"agent_start"' in beginning[:_MOST_HEADING]:
        return None  # pi's stream, which begins as its sessions do
    for line in beginning.split(b"\n", _FIRST_LINES)[:_FIRST_LINES]:
        try:
            agent = _agent_of(decode_record(line))
        except ValueError:
            continue
        if agent is not None:
            return agent
    if re.match(rb'\s*\{\s*"(sessionId|info)"\s*:', beginning):  # one document over many lines
        return "gemini" if b'"sessionId"' in beginning[:200] else "opencode"
    return None


def _agent_of(record: dict[str, Any]) -> str | None:
    kind = words(record.get("type"))
    if kind == "session_meta" and isinstance(record.get("payload"), dict):
        return "codex"
    if kind == "session" and words(record.get("id")) and "cwd" in record:
        return "pi"
    if words(record.get("sessionId")) and ("projectHash" in record or "startTime" in record):
        return "gemini"
    if isinstance(record.get("info"), dict) and isinstance(record.get("messages"), list):
        return "opencode"
    is_stream = "session_id" in record
    if (
        kind in _CLAUDE_TYPES
        and not is_stream
        and ("sessionId" in record or kind in ("summary", "file-history-snapshot"))
    ):
        return "claude_code"
    return None


def _claude_facts(path: Path) -> SessionFacts:
    """Tell from its place what a transcript is of: ``<session>.jsonl``, or ``<session>/subagents/agent-<id>.jsonl``."""
    facts = SessionFacts("claude_code")
    if _UUID.match(path.stem):
        facts.session_id = path.stem
    if path.name.startswith("agent-"):
        facts.lane = path.stem.removeprefix("agent-")
        facts.labels[facts.lane] = "agent"
        if path.parent.name == "subagents" and _UUID.match(path.parent.parent.name):
            facts.session_id = path.parent.parent.name
        about = _about_subagent(path.with_suffix(".meta.json"))
        facts.labels[facts.lane] = words(about.get("agentType")) or "agent"
        facts.parent_calls[facts.lane] = words(about.get("toolUseId"))
    return facts


def _about_subagent(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            return decode_record(opened.read(_MOST_BEGINNING))
    except (OSError, ValueError):
        return {}  # it only says more about what is known anyway
