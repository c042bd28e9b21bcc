"""The recorder: every call appends to a file, then commits one small transaction, then returns."""

import json
import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_workflow.tracer import _clock, _ids
from agent_workflow.tracer._errors import TraceWriteFailed
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._journal import Journal, records
from agent_workflow.tracer._json import as_int, bindable, quote
from agent_workflow.tracer._mirror import Mirror
from agent_workflow.tracer._redaction import Redactor, secrets_of
from agent_workflow.tracer._reserve import Reserve
from agent_workflow.tracer._rows import apply_state, event_row, insert_event
from agent_workflow.tracer._shield import Shield

_open_tracers: "weakref.WeakSet[Tracer]" = weakref.WeakSet()


def say(message: str) -> None:
    """Tell the person at the terminal; a closed stderr is no reason to stop."""
    try:
        print(f"agent-workflow: {message}", file=sys.stderr, flush=True)  # noqa: T201 - warnings of a run go to stderr
    except (OSError, ValueError):
        return


class Tracer:
    """Writes one session: first to its files, then to the database.

    When a call returns, the record is in the file. It is in the database too, unless that cannot take it now; then
    the run goes on, a warning is shown, and the missing rows are copied from the file at a later call or at the end.
    """

    def __init__(
        self,
        db: Path | str,
        data_dir: Path | str,
        adw_id: str,
        *,
        redactor: Redactor | None = None,
        warn: Callable[[str], None] = say,
        shield: Shield | None = None,
    ) -> None:
        """Open the session's files, creating them if need be.

        Args:
            db: the trace database.
            data_dir: the session directory is ``<data_dir>/sessions/<adw_id>``.
            adw_id: a valid session id.
            redactor: what to keep out of the trace; by default the secrets of this process's environment.
            warn: called with a sentence when the database cannot be written, and when it has caught up.
            shield: holds back signals while a record is half written.

        Raises:
            TraceWriteFailed: the id is not valid, or the files cannot be opened.
        """
        if not _ids.is_valid_id(adw_id):
            raise TraceWriteFailed(f"{adw_id!r} is no session id", hint="letters, digits, dot, dash, underscore")
        self.adw_id = adw_id
        self.files = SessionFiles.of(Path(data_dir), adw_id)
        self.redactor = redactor if redactor is not None else Redactor(secrets_of(os.environ))
        self.shield = shield if shield is not None else Shield()
        self._warn = warn
        self._lock = threading.RLock()
        self._mirror = Mirror(Path(db))
        self._behind: tuple[int, int] | None = None
        try:
            self.files.create()
            self._events = Journal(self.files.events)
            self._state = Journal(self.files.state)
        except OSError as error:
            raise TraceWriteFailed(f"cannot open the session's files: {error}", path=self.files.directory) from error
        self.reserve = Reserve(self.files.reserve)
        self._behind = None if self._mirror.write(_nothing) else (0, 0)
        if self._behind:
            self._complain()
        self._adw_json = quote(adw_id)
        _open_tracers.add(self)

    @property
    def db(self) -> Path:
        """The trace database."""
        return self._mirror.path

    def event(
        self,
        type: str,  # noqa: A002 - the column's name
        name: str,
        payload: object = None,
        *,
        phase_id: str = "",
        parent_id: str = "",
        tokens: int | None = None,
        started_at: str | None = None,
        ended_at: str | None = None,
    ) -> str:
        """Record one event.

        Args:
            type: one of the ten event types.
            name: label; secrets in it are replaced.
            payload: anything; what JSON cannot hold is written as text.
            phase_id: phase that it belongs to.
            parent_id: event that it is nested in.
            tokens: billed tokens.
            started_at: start of a span; now when omitted.
            ended_at: end of a span.

        Returns:
            The event's id, after the file has the event.

        Raises:
            TraceWriteFailed: the file did not take it. The event is not recorded.
        """
        moment = _clock.now()
        event_id = _ids.new_event_id()
        text = self.redactor.payload({} if payload is None else payload)
        label = self.redactor.text(name)
        started = started_at or moment
        billed = as_int(tokens)
        line = (
            f'{{"event_id": "{event_id}", "ts": "{moment}", "adw_id": {self._adw_json}, '
            f'"phase_id": {quote(phase_id)}, "type": {quote(type)}, "name": {quote(label)}, '
            f'"payload": {text}, "parent_id": {quote(parent_id)}, '
            f'"tokens": {"null" if billed is None else billed}, "started_at": {quote(started)}, '
            f'"ended_at": {"null" if ended_at is None else quote(ended_at)}}}\n'
        )
        row = (
            event_id, self.adw_id, phase_id, parent_id, type, bindable(label), text, billed, started, ended_at,
        )  # fmt: skip
        with self._lock, self.shield:
            start = self._append(self._events, line.encode("ascii"))
            if self._mirror.is_fresh or self._behind is not None:
                self._catch_up(patient=False)
            elif not self._mirror.event(row):
                self._fell_behind(start, self._state_size())
        return event_id

    def row(self, table: str, **columns: Any) -> None:  # noqa: ANN401 - cells of any column
        """Record a row of another table, whole or in part; the key columns must be among them.

        Raises:
            TraceWriteFailed: the file did not take it. The row is not recorded.
        """
        self.rows((table, columns))

    def rows(self, *rows: tuple[str, Mapping[str, object]]) -> None:
        """Record rows of other tables at once: who is killed meanwhile leaves all of them or none.

        Args:
            rows: table and columns of each, as ``row`` takes them.

        Raises:
            TraceWriteFailed: the file did not take them. None of them is recorded.
        """
        if not rows:
            return
        with self._lock, self.shield:
            self._write_state(*({"table": table, "row": {"adw_id": self.adw_id, **columns}} for table, columns in rows))

    def numbered_row(self, table: str, **columns: Any) -> int:  # noqa: ANN401 - cells of any column
        """Record a new row of a table whose key is a number.

        Returns:
            The number; give it to ``row`` to change the row later.

        Raises:
            TraceWriteFailed: the file did not take it. The row is not recorded.
        """
        number = _ids.new_row_id()
        columns["adw_id"] = self.adw_id
        with self._lock, self.shield:
            if not self._write_state({"table": table, "row": {"id": number, **columns}}):
                number = self._redraw(table, {"id": number, **columns})
        return number

    def copy_all(self) -> bool:
        """Copy the whole session into the database: a killed writer may have left its last record in the file alone.

        Returns:
            Whether the database has everything.
        """
        with self._lock, self.shield:
            self._behind = (0, 0)
            self._catch_up(patient=True)
            return self._behind is None

    def tidy(self) -> None:
        """Do what need not be done with every event: between phases, copy the database's log back."""
        with self._lock, self.shield:
            self._mirror.tidy()

    def go_on_forked(self) -> None:
        """Go on in a forked child: with another connection, and a lock that no thread of the parent's holds."""
        self._lock = threading.RLock()
        self._mirror.forget()

    def sync(self) -> None:
        """Ask the disk to keep the files; a disk that cannot is told, not raised."""
        try:
            self._events.sync()
            self._state.sync()
        except OSError as error:
            self._warn(f"{self.files.directory}: the disk did not confirm the trace: {error.strerror}")

    def close(self) -> None:
        """Catch up if need be and close; closing twice is fine."""
        with self._lock, self.shield:
            if self._behind is not None:
                self._catch_up(patient=True)
            self._mirror.close()
            self._events.close()
            self._state.close()

    def _append(self, journal: Journal, line: bytes) -> int:
        try:
            return journal.append(line)
        except TraceWriteFailed as error:
            self._warn(f"{journal.path}: {error}; this record is lost")
            raise

    def _write_state(self, *records: Mapping[str, object]) -> bool:
        """Append state records and mirror them; return ``False`` when a number of theirs belongs to another session."""
        moment = _clock.now()
        texts = [self.redactor.payload({"ts": moment, **record}) for record in records]
        start = self._append(self._state, "".join(f"{text}\n" for text in texts).encode("ascii"))
        if self._mirror.is_fresh or self._behind is not None:
            self._catch_up(patient=False)
            return True
        applied = True
        contents = [json.loads(text) for text in texts]  # what the file has: redacted, and of JSON's types

        def change(connection: sqlite3.Connection) -> None:
            nonlocal applied
            applied = True
            for content in contents:
                applied = apply_state(connection, content) and applied

        if not self._mirror.write(change):
            self._fell_behind(self._events_size(), start)
        return applied

    def _redraw(self, table: str, columns: dict[str, Any]) -> int:
        taken = columns["id"]
        number = _ids.new_row_id()
        void = {"table": table, "void": {"id": taken, "adw_id": self.adw_id}}
        self._write_state(void, {"table": table, "row": {**columns, "id": number}})
        return number

    def _catch_up(self, *, patient: bool) -> None:
        """Replay both files into the database: from where it fell behind, or whole into one that is new."""
        events_from, state_from = (0, 0) if self._mirror.is_fresh or self._behind is None else self._behind
        self._behind = (events_from, state_from)

        def change(connection: sqlite3.Connection) -> None:
            for record in records(self.files.state, state_from):
                if record.value is not None:
                    apply_state(connection, record.value)
            for record in records(self.files.events, events_from):
                row = event_row(record.value) if record.value is not None else None
                if row is not None:
                    insert_event(connection, row)

        was = self._mirror.fault
        if self._mirror.write(change, patient=patient):
            self._behind = None
            if was:
                self._warn(f"{self.db}: has caught up with the files")

    def _fell_behind(self, events_from: int, state_from: int) -> None:
        self._behind = (events_from, state_from)
        self._complain()

    def _complain(self) -> None:
        self._warn(f"{self.db}: {self._mirror.fault}; the run goes on, its files have everything, rows follow later")

    def _events_size(self) -> int:
        return self.files.events.stat().st_size

    def _state_size(self) -> int:
        return self.files.state.stat().st_size


def _after_fork() -> None:
    """A forked child must not repeat its parent's event ids, nor touch its connections."""
    _ids.reseed()
    for tracer in _open_tracers:
        tracer.go_on_forked()


os.register_at_fork(after_in_child=_after_fork)


def _nothing(_: sqlite3.Connection) -> None:
    return None
