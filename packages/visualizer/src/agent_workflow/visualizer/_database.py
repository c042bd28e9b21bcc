"""One trace database that is served: a few connections, opened again by themselves when the file is another one."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from agent_workflow.tracer import NoSuchSession, TraceReadError, TracerError, locate_data_dir
from agent_workflow.tracer.viewing import EventRowids, FileIdentity, NoSuchRecord, TraceSource
from agent_workflow.visualizer._at_once import AtOnce
from agent_workflow.visualizer._errors import trace_problem
from agent_workflow.visualizer._memory import Memory

T = TypeVar("T")

_MOST_IDLE: Final = 4


class Database:
    """A trace database by name.

    Attributes:
        name: in addresses.
        path: of the file.
        at_once: reading it in the event loop.
        memory: what was worked out from this filling of it; forgotten with it.
        rowids: likewise.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.at_once = AtOnce(path)
        self.memory = Memory()
        self.rowids = EventRowids()
        self.rowids_lock = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[TraceSource] = []
        self._identity: FileIdentity | None = None
        self._watch_lock = threading.Lock()
        self._watch: TraceSource | None = None
        self._opened = 0
        self._data_dir: Path | None = None

    @property
    def data_dir(self) -> Path:
        """Where the session directories are, looked up once."""
        if self._data_dir is None:
            try:
                self._data_dir = locate_data_dir(self.path)
            except TracerError:
                self._data_dir = self.path.absolute().parent
        return self._data_dir

    def session_directory(self, adw_id: str) -> Path:
        """Name the directory of a session; it may not exist."""
        return self.data_dir / "sessions" / adw_id

    def read(self, ask: Callable[[TraceSource], T]) -> T:
        """Ask the database inside one snapshot; when the file was changed under us, once more over a new connection.

        Raises:
            NoSuchSession, NoSuchRecord: as asked.
            TraceReadError: it cannot be read now.
        """
        try:
            return self._ask(ask)
        except (NoSuchSession, NoSuchRecord):
            raise
        except TraceReadError as error:
            if trace_problem(error) == "locked":
                raise  # it was waited for already
            self.forget()
            return self._ask(ask)

    def version(self) -> str:
        """Name the state of the database: it changes with every commit of anybody, and with the file.

        Raises:
            TraceReadError: it cannot be read now.
        """
        identity = FileIdentity.of(self.path)
        with self._watch_lock:
            if self._watch is None or self._watch.identity != identity:
                self._close_watch()
                self.forget()
                self._watch = TraceSource(self.path)
                self._opened += 1
            try:
                return f"{self._opened}-{self._watch.data_version()}"
            except TraceReadError:
                self._close_watch()
                raise

    def forget(self) -> None:
        """Close idle connections and drop what was worked out from them."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._identity = None
            self.memory.clear()
            self.rowids = EventRowids()
        for source in idle:
            source.close()

    def close(self) -> None:
        """Close everything."""
        self.forget()
        self.at_once.close()
        with self._watch_lock:
            self._close_watch()

    def _close_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _ask(self, ask: Callable[[TraceSource], T]) -> T:
        source = self._take()
        is_sound = False
        try:
            source.notice_schema()
            with source.snapshot():
                answer = ask(source)
            is_sound = True
            return answer
        except (NoSuchSession, NoSuchRecord):
            is_sound = True
            raise
        finally:
            self._give_back(source, is_sound=is_sound)

    def _take(self) -> TraceSource:
        identity = FileIdentity.of(self.path)
        with self._lock:
            changed = self._identity is not None and self._identity != identity
        if changed:
            self.forget()
        with self._lock:
            self._identity = identity
            if self._idle:
                return self._idle.pop()
        return TraceSource(self.path)

    def _give_back(self, source: TraceSource, *, is_sound: bool) -> None:
        with self._lock:
            if is_sound and source.identity == self._identity and len(self._idle) < _MOST_IDLE:
                self._idle.append(source)
                return
        source.close()
