"""Where the files of one session are, and where a repository keeps its trace."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_DATA_DIR: Final = "adws/adw_data"
DEFAULT_DB: Final = "adws/adw_data/sssf.db"


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The directory of one session.

    Attributes:
        directory: ``<data_dir>/sessions/<adw_id>``.
    """

    directory: Path

    @classmethod
    def of(cls, data_dir: Path, adw_id: str) -> "SessionFiles":
        """Name the directory of a session; nothing is created."""
        return cls(data_dir / "sessions" / adw_id)

    @property
    def adw_id(self) -> str:
        """The session's id, which is the directory's name."""
        return self.directory.name

    @property
    def events(self) -> Path:
        """One line per event."""
        return self.directory / "events.jsonl"

    @property
    def state(self) -> Path:
        """One line per other row."""
        return self.directory / "state.jsonl"

    @property
    def agent_map(self) -> Path:
        """Which coding-agent session each agent continues."""
        return self.directory / "agent_map.json"

    @property
    def handoff(self) -> Path:
        """Free files that agents leave for each other."""
        return self.directory / "context_handoff"

    @property
    def lock(self) -> Path:
        """Held while something is decided for the whole session: the next phase, who closes it."""
        return self.directory / ".lock"

    @property
    def reserve(self) -> Path:
        """Space kept for the closing records, in case the disk fills up."""
        return self.directory / ".reserve"

    def agent(self, name: str) -> Path:
        """Where one agent's prompts, output and envelope are."""
        return self.directory / name

    def create(self) -> None:
        """Make the directory."""
        self.handoff.mkdir(parents=True, exist_ok=True)


def session_directories(data_dir: Path) -> list[SessionFiles]:
    """List the sessions that left files, by name."""
    root = data_dir / "sessions"
    if not root.is_dir():
        return []
    return [SessionFiles(entry) for entry in sorted(root.iterdir()) if entry.is_dir() and not entry.is_symlink()]


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a small file so that a reader sees the old or the new content.

    Raises:
        OSError: it cannot be written; the old content is still there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
