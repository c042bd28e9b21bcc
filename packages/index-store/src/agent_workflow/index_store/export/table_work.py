"""The tables of one export: what of each is read, written again or left as it lies there."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from functools import partial
from typing import NamedTuple, Self

from agent_workflow.index_store.export.checkpoint import (
    Checkpoint,
    DaysOfRuns,
    TableMark,
    changed_runs,
    days_of,
)
from agent_workflow.index_store.export.fields import TABLES
from agent_workflow.index_store.export.manifest import PartEntry
from agent_workflow.index_store.export.partitions import Part, is_retired, part_path, parts_of
from agent_workflow.index_store.export.policy import Policy
from agent_workflow.index_store.export.snapshot import IndexSnapshot
from agent_workflow.index_store.export.store import Store
from agent_workflow.index_store.export.tables import (
    KEPT_BY_RUN,
    FetchedTable,
    TableExport,
    columns_read,
    days_by_run,
    fetch_table,
    lay_out,
)

_LARGEST_FIRST = sorted(TABLES, key=lambda name: (name != "events", name != "health"))
"""The rest is read while the largest are compressed and put."""


class ExportedTable(NamedTuple):
    """What became of a table, what its files are now, and what the next export can build on."""

    told: TableExport
    mark: TableMark
    parts: tuple[PartEntry, ...]
    written: int


class _Change(NamedTuple):
    """What changed in a table that is kept by run."""

    reached: frozenset[date]
    """Days whose files may differ."""
    days: DaysOfRuns
    """Rows of each day by run, as they are now."""


class TableWork:
    """Exports tables: the caller's thread reads the index, another lays columns out, and others put files."""

    def __init__(
        self,
        store: Store,
        snapshot: IndexSnapshot,
        policy: Policy,
        *,
        host: str,
        since: date,
        there: Mapping[str, int],
        last: Checkpoint | None,
    ) -> None:
        """Prepare.

        Args:
            store: where files go.
            snapshot: where rows come from.
            policy: what leaves.
            host: name of the host in the dataset.
            since: earlier days are left out.
            there: files that the place has already, with their sizes.
            last: what the last export left; None where this one does everything.
        """
        self._store, self._snapshot, self._policy = store, snapshot, policy
        self._host, self._since, self._there, self._last = host, since, there, last
        self._layout = ThreadPoolExecutor(max_workers=1)  # no thread is started before there is work
        self._puts = ThreadPoolExecutor(max_workers=store.puts_at_once)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for all that was begun."""
        self._layout.shutdown(cancel_futures=True)
        self._puts.shutdown(cancel_futures=True)

    def export(self, parts: Sequence[PartEntry]) -> dict[str, Callable[[], ExportedTable]]:
        """Read what has to be read, and begin to write it.

        Args:
            parts: what the dataset has of this host.

        Returns:
            What waits for each table to be written, by its name.
        """
        needed = [part for part in parts if not is_retired(part.day, self._since)]
        return {name: self._export(name, [part for part in needed if part.table == name]) for name in _LARGEST_FIRST}

    def _export(self, name: str, known: list[PartEntry]) -> Callable[[], ExportedTable]:
        missing = frozenset(part.day for part in known if self._there.get(part.path(self._host)) != part.size_bytes)
        last = self._last
        mark = None if last is None else last.tables.get(name)
        if name not in KEPT_BY_RUN:
            digest = self._snapshot.table_digest(name, list(columns_read(name, self._policy)))
            if mark is not None and mark.digest == digest and not missing:
                return partial(self._as_it_was, name, mark, known)
            return self._begin(fetch_table(self._snapshot, self._policy, self._told(name)), digest=digest)
        change = None
        if last is not None and mark is not None and mark.days is not None:
            change = self._change(name, last, mark.days, missing)
        if mark is None or change is None:
            return self._begin(fetch_table(self._snapshot, self._policy, self._told(name)))
        if not change.reached:
            return partial(self._as_it_was, name, replace(mark, rows=_rows(change.days), days=change.days), known)
        readers = [session for session, days in change.days.items() if change.reached & days.keys()]
        some = readers if 2 * len(readers) < len(change.days) else None
        fetched = fetch_table(self._snapshot, self._policy, self._told(name), some)
        return self._begin(fetched, change=change, known=known)

    def _told(self, name: str) -> TableExport:
        columns = tuple(column.name for column in self._policy.fields(name))
        return TableExport(name, columns, self._policy.left_out(name))

    def _as_it_was(self, name: str, mark: TableMark, known: Sequence[PartEntry]) -> ExportedTable:
        told = replace(self._told(name), rows=mark.rows, unrepresentable=dict(mark.unrepresentable))
        return ExportedTable(told, mark, tuple(known), 0)

    def _change(self, name: str, last: Checkpoint, before: DaysOfRuns, missing: frozenset[date]) -> _Change | None:
        """Find the days that runs left or came to; None where the whole table has to be read to know."""
        came, went = changed_runs(last, self._snapshot.run_marks)
        now: DaysOfRuns = {}
        if came:
            told = self._told(name)
            now = days_by_run(lay_out(fetch_table(self._snapshot, self._policy, told, sorted(came))))
            if told.unrepresentable:
                return None
        days: dict[str, Mapping[date, int]] = {
            session: found for session, found in before.items() if session not in went
        }
        days |= now
        return _Change(missing | days_of(before, went) | days_of(now, now), days)

    def _begin(
        self,
        fetched: FetchedTable,
        *,
        digest: str | None = None,
        change: _Change | None = None,
        known: Sequence[PartEntry] = (),
    ) -> Callable[[], ExportedTable]:
        """Lay a table out, whole or the days of a change, and put its files."""
        future = self._layout.submit(self._lay_out_and_put, fetched, digest, change)
        kept = () if change is None else tuple(part for part in known if part.day not in change.reached)

        def finish() -> ExportedTable:
            mark, begun = future.result()
            put = [one.result() for one in begun]
            parts = sorted((*kept, *(part for part, _ in put)), key=lambda part: part.day)
            told = replace(fetched.told, rows=mark.rows)
            return ExportedTable(told, mark, tuple(parts), sum(written for _, written in put))

        return finish

    def _lay_out_and_put(
        self, fetched: FetchedTable, digest: str | None, change: _Change | None
    ) -> tuple[TableMark, list["Future[tuple[PartEntry, bool]]"]]:
        rows, told = lay_out(fetched), fetched.told
        only = None if change is None else change.reached
        begun = [self._puts.submit(self._put, part) for part in parts_of(rows, told.name, self._since, only)]
        if change is not None:
            return TableMark(_rows(change.days), {}, days=change.days), begun
        # Which row had the odd value is not kept, so a table that has one is read whole again.
        days = days_by_run(rows) if told.name in KEPT_BY_RUN and not told.unrepresentable else None
        return TableMark(told.rows, dict(told.unrepresentable), digest, days), begun

    def _put(self, part: Part) -> tuple[PartEntry, bool]:
        """Put a part unless it is there whole; tell whether it was put."""
        path = part_path(part.table, self._host, part.day, part.sha256)
        if is_new := self._there.get(path) != len(part.content):
            self._store.put(path, part.content)
        return PartEntry(part.table, part.day, part.rows, len(part.content), part.sha256), is_new


def _rows(days: DaysOfRuns) -> int:
    return sum(rows for found in days.values() for rows in found.values())
