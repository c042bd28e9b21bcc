"""Archive flags of sessions whose own database has no place for them, in one small file of ours.

``$XDG_STATE_HOME/agent-workflow-ui/archived.json``: ``{"<database>": {"<adw_id>": true}}``. A foreign database is never
written to; losing this file loses only which of its sessions were put away.
"""

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agent_workflow.visualizer._errors import NotKept


def default_flags_path() -> Path:
    """Return where the flags are kept."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "agent-workflow-ui" / "archived.json"


class ArchiveFlags:
    """The file, read again when somebody else has changed it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._flags: dict[str, dict[str, bool]] = {}

    def version(self) -> str:
        """Name the state of the file."""
        return str(self._stamp())

    def of(self, database: Path) -> Mapping[str, bool]:
        """Return the flags of one database; a missing or damaged file holds none."""
        with self._lock:
            stamp = self._stamp()
            if stamp != self._seen:
                try:
                    self._flags = self._read()
                except OSError:
                    self._flags = {}
                self._seen = stamp
            return dict(self._flags.get(_key(database), {}))

    def put(self, database: Path, adw_id: str, *, archived: bool) -> None:
        """Keep a flag.

        Raises:
            NotKept: the file cannot be written, or not be read: then the flags in it would be lost.
        """
        try:
            with self._lock, self._held():
                flags = self._read()
                mine = flags.setdefault(_key(database), {})
                if archived:
                    mine[adw_id] = True
                else:
                    mine.pop(adw_id, None)
                self._write({name: kept for name, kept in flags.items() if kept})
                self._seen = None
        except OSError as error:
            raise NotKept(f"{self.path}: the flag cannot be kept: {error.strerror}") from error

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    def _read(self) -> dict[str, dict[str, bool]]:
        """Read the file; what is no JSON holds no flags."""
        try:
            content = json.loads(self.path.read_bytes())
        except (FileNotFoundError, ValueError, RecursionError):
            return {}
        if not isinstance(content, dict):
            return {}
        return {
            str(name): {str(key): True for key, flag in kept.items() if flag is True}
            for name, kept in content.items()
            if isinstance(kept, dict)
        }

    def _write(self, flags: Mapping[str, Mapping[str, bool]]) -> None:
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        try:
            beside.write_text(json.dumps(flags, indent=1, sort_keys=True), encoding="utf-8")
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep other servers from writing at the same time."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path.with_name(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _key(database: Path) -> str:
    return str(database.absolute())
