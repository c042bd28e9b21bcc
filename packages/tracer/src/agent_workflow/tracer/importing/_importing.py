"""Importing: find the session files, take in what is new, write every session that this changes."""

import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from agent_workflow.trace_schema import NewerTraceSchema
from agent_workflow.tracer._connect import open_writer
from agent_workflow.tracer._errors import TraceReadError, TraceWriteFailed
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._redaction import Redactor, secrets_of
from agent_workflow.tracer.importing import _opencode_database as opencode_database
from agent_workflow.tracer.importing._formats import session_files
from agent_workflow.tracer.importing._ledger import NAME, Ledger
from agent_workflow.tracer.importing._publishing import QUIET_SECONDS, publish
from agent_workflow.tracer.importing._report import ImportProgress, ImportReport
from agent_workflow.tracer.importing._session_events import ImportedSession
from agent_workflow.tracer.importing._session_files import write_session
from agent_workflow.tracer.importing._source_files import RACY_NS, Looked, look
from agent_workflow.tracer.importing._taking import Taken, take_document, take_file
from agent_workflow.tracer.pricing import Prices, load_prices


def import_sessions(
    paths: Iterable[Path],
    db: Path,
    data_dir: Path,
    *,
    progress: Callable[[ImportProgress], None] | None = None,
    prices: Prices | None = None,
    redactor: Redactor | None = None,
    written: Callable[[SessionFiles], None] | None = None,
    publish_to: Path | None = None,
    quiet_seconds: float = QUIET_SECONDS,
) -> ImportReport:
    """Turn session files of coding agents into sessions of a trace.

    Only what is new is read; importing again, in another order or in parts comes to the same rows. A session is written
    to its directory first; its rows are what a rebuild would make of that.

    Args:
        paths: files, and folders that are searched.
        db: the trace database, made when there is none.
        data_dir: its ``sessions`` folder gets the sessions; the ledger is kept beside it.
        progress: is told now and then.
        prices: for estimates; the bundled list by default, if it is installed.
        redactor: what to keep out; by default the secrets of this process's environment.
        written: is called with the directory of each session that was written.
        publish_to: a state root; sessions that have changed since they were published become runs there.
        quiet_seconds: how long a session must have been quiet for that.

    Raises:
        TraceReadError: the ledger or the database cannot be opened, or another import is at work.
        TraceWriteFailed: a session, or what was read, cannot be written; the next import goes on with it.
    """
    report = ImportReport()
    listed = prices if prices is not None else load_prices()
    report.catalogue = listed.catalogue if listed else ""
    keep = redactor if redactor is not None else Redactor(secrets_of(os.environ))
    ledger = Ledger(data_dir / NAME, keep)
    try:
        importer = _Importer(ledger, report, progress or _nobody)
        importer.read(paths)
        importer.write(db, data_dir, listed, keep, written)
        if publish_to is not None:
            publish(ledger, data_dir, db, publish_to, keep, report, importer.show_published, quiet_seconds)
    except sqlite3.Error as error:
        raise TraceWriteFailed(f"what was read cannot be kept: {error}", path=ledger.path) from error
    finally:
        ledger.close()
    return report


class _Importer:
    def __init__(self, ledger: Ledger, report: ImportReport, progress: Callable[[ImportProgress], None]) -> None:
        self.ledger = ledger
        self.report = report
        self.progress = progress
        self.bytes_new = 0

    def read(self, paths: Iterable[Path]) -> None:
        """Take in every file that has changed."""
        changed = self._changed(paths)
        self.bytes_new = sum(looked.size - before for _, looked, before in changed)
        for path, looked, _ in changed:
            self.progress(ImportProgress(self.report.bytes_read, self.bytes_new))
            try:
                self._count(path, take_file(self.ledger, Path(path), looked))
            except OSError as error:
                self.report.unreadable.append(f"{path}: cannot be read: {error.strerror}")

    def _count(self, path: str, taken: Taken) -> None:
        self.report.bytes_read += taken.bytes_read
        self.report.damaged.extend(taken.damaged)
        if taken.more_damaged:
            self.report.damaged.append(f"{path}: {taken.more_damaged} more lines")
        if taken.waiting:
            self.report.waiting.append(f"{path}: {taken.waiting} bytes of an unfinished line")
        if taken.agent:
            self.report.agents[taken.agent] = self.report.agents.get(taken.agent, 0) + 1
        else:
            self.report.foreign += 1

    def _read_database(self, path: str, known: dict[str, tuple[int, int, int, int, int]]) -> None:
        """Take in the sessions of opencode's database that have changed; that takes a question, not a ``stat``."""
        try:
            status = os.stat(path)  # noqa: PTH116 - as everywhere here
            with opencode_database.opened(Path(path)) as connection:
                for stored in opencode_database.sessions(connection):
                    place = f"{path}#{stored.session_id}"
                    looked = Looked(status.st_dev, status.st_ino, stored.entries, stored.newest * 1_000_000)
                    self.report.files += 1
                    if known.get(place, ())[:4] == looked:
                        self.report.unchanged += 1
                        continue
                    damaged: list[str] = []
                    record = opencode_database.document(connection, stored.session_id, damaged)
                    if record is None:
                        continue
                    told = [f"{place}, {sentence}" for sentence in damaged]
                    self._count(place, take_document(self.ledger, place, looked, record, told))
        except OSError as error:
            self.report.unreadable.append(f"{path}: {error.strerror}")

    def _changed(self, paths: Iterable[Path]) -> list[tuple[str, Looked, int]]:
        """Find the files that differ from what is known, at the cost of one ``stat`` each."""
        known = self.ledger.known()
        changed = []
        seen: set[str] = set()
        for entry in session_files(paths, self.report.unreadable):
            path = os.path.abspath(entry)  # noqa: PTH100 - for every file, and a fraction of the cost
            if path in seen:
                continue
            seen.add(path)
            if opencode_database.is_database(path):
                self._read_database(path, known)
                continue
            self.report.files += 1
            try:
                looked = look(entry.stat())
            except OSError as error:
                self.report.unreadable.append(f"{path}: cannot be looked at: {error.strerror}")
                continue
            if looked is None:
                self.report.foreign += 1
                continue
            before = known.get(path)
            # Shortly after a change a file may change again without another time.
            if before is not None and before[:4] == looked and before[4] - looked.mtime_ns > RACY_NS:
                self.report.unchanged += 1
                continue
            changed.append((path, looked, before[2] if before is not None and before[2] <= looked.size else 0))
        return changed

    def write(
        self,
        db: Path,
        data_dir: Path,
        prices: Prices | None,
        redactor: Redactor,
        written: Callable[[SessionFiles], None] | None,
    ) -> None:
        """Write every session that has changed, and those that somebody has removed."""
        try:
            connection = open_writer(db)
        except (sqlite3.Error, OSError, NewerTraceSchema) as error:
            raise TraceReadError(f"cannot be written: {error}", path=db) from error
        try:
            self._notice_removed(connection, data_dir)
            todo = self.ledger.dirty_sessions()
            for number, adw_id in enumerate(todo):
                self.progress(ImportProgress(self.bytes_new, self.bytes_new, number, len(todo)))
                files = SessionFiles.of(data_dir, adw_id)
                if self._write(connection, files, prices, redactor):
                    self.report.written.append(adw_id)
                    if written is not None:
                        written(files)
        finally:
            connection.close()

    def show_published(self, number: int, of: int) -> None:
        """Tell how many runs are published."""
        count = len(self.report.written)
        self.progress(ImportProgress(self.bytes_new, self.bytes_new, count, count, number, of))

    def _write(
        self, connection: sqlite3.Connection, files: SessionFiles, prices: Prices | None, redactor: Redactor
    ) -> bool:
        adw_id = files.adw_id
        session = ImportedSession(self.ledger, adw_id, prices)
        if not session.is_empty:
            try:
                write_session(connection, files, session, redactor)
            except OSError as error:
                raise TraceWriteFailed(f"cannot be written: {error.strerror}", path=files.directory) from error
            except sqlite3.Error as error:
                raise TraceWriteFailed(f"its rows cannot be written: {error}", path=files.directory) from error
        self.ledger.written(adw_id, is_empty=session.is_empty)
        return not session.is_empty

    def _notice_removed(self, connection: sqlite3.Connection, data_dir: Path) -> None:
        rows = {row[0] for row in connection.execute("SELECT adw_id FROM sessions")}
        folder = data_dir / "sessions"
        folders = {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
        self.ledger.make_dirty(one for one in self.ledger.written_sessions() if one not in rows or one not in folders)


def _nobody(_: ImportProgress) -> None:
    return None
