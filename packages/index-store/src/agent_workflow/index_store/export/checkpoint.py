"""What an export leaves beside the index, so that the next one to the same place does only what changed.

Disposable: without it, or with one of another index, policy, release or dataset, the next export does everything. The
result is always the files that an export to an empty place would write.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date
from importlib.metadata import version

from agent_workflow.index_store.export.fields import TABLES
from agent_workflow.index_store.export.partitions import WRITER_OPTIONS
from agent_workflow.index_store.export.policy import Policy
from agent_workflow.index_store.export.snapshot import IndexSnapshot
from agent_workflow.index_store.index_files import check_file
from agent_workflow.index_store.scanning import PROJECTION_REVISION
from agent_workflow.index_store.state_root import not_writable

REVISION = 1
"""Raise it whenever the same rows must give other files, so that everything is written again."""

_MAXIMUM_BYTES = 256 * 1024 * 1024

DaysOfRuns = Mapping[str, Mapping[date, int]]
"""Rows of each day, by run."""


@dataclass(frozen=True)
class TableMark:
    """What was exported of one table.

    Attributes:
        rows: that the index had.
        unrepresentable: values by column that could not be told.
        digest: of all that was read, in tables that are not kept by run.
        days: rows of each day by run, in tables that are. None in both where nothing can be built on: the next export
            reads the table whole.
    """

    rows: int
    unrepresentable: Mapping[str, int]
    digest: str | None = None
    days: DaysOfRuns | None = None


@dataclass(frozen=True)
class Checkpoint:
    """What the last export to one place was made from.

    Attributes:
        basis: digest of all but the rows that decides about the files.
        manifest_sha256: of the manifest that it wrote; another one there is not ours to build on.
        runs: a mark of each run, which changes with its rows.
        tables: by name.
    """

    basis: str
    manifest_sha256: str
    runs: Mapping[str, str] = dataclass_field(default_factory=dict)
    tables: Mapping[str, TableMark] = dataclass_field(default_factory=dict)


def basis_of(snapshot: IndexSnapshot, policy: Policy, host: str) -> str:
    """Return the digest of what must be the same for an export to build on the last one."""
    metadata = snapshot.metadata()
    decides = (
        *(REVISION, PROJECTION_REVISION, version("agent-workflow-index-store"), version("pyarrow"), host),
        *(metadata.get("generation"), metadata.get("schema_version"), policy.to_document()),
        *(sorted(WRITER_OPTIONS.items()), [(name, policy.fields(name)) for name in TABLES]),
    )
    return hashlib.sha256(repr(decides).encode()).hexdigest()


def load_checkpoint(snapshot: IndexSnapshot, place: str, basis: str, manifest: bytes | None) -> Checkpoint | None:
    """Return what the last export to a place left, or None where this one cannot build on it.

    Args:
        snapshot: the index.
        place: URL of the dataset, and host.
        basis: of this export.
        manifest: that the dataset has now.
    """
    name = _name(place)
    if manifest is None or not check_file(snapshot.location, name):
        return None
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=snapshot.location.directory)
        with os.fdopen(descriptor, "rb") as file:
            digest, _, content = file.read(_MAXIMUM_BYTES).partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != digest:
            return None
        document = json.loads(content)
        if document["basis"] != basis or document["manifest_sha256"] != hashlib.sha256(manifest).hexdigest():
            return None
        tables = {name: _table_mark(mark) for name, mark in document["tables"].items()}
        return Checkpoint(basis, document["manifest_sha256"], document["runs"], tables)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # whatever is wrong with it, it is only worth the time that it would have saved


def _table_mark(mark: Mapping[str, object]) -> TableMark:
    rows, unrepresentable, digest, days = (mark[name] for name in ("rows", "unrepresentable", "digest", "days"))
    if not (isinstance(rows, int) and isinstance(unrepresentable, dict) and isinstance(digest, str | None)):
        raise TypeError("no mark of a table")
    return TableMark(rows, unrepresentable, digest, None if days is None else _days(days))


def _days(days: object) -> DaysOfRuns:
    if not isinstance(days, dict):
        raise TypeError("no days")
    dates: dict[str, date] = {}

    def day(text: str) -> date:
        return dates.get(text) or dates.setdefault(text, date.fromisoformat(text))

    return {session: {day(text): int(rows) for text, rows in found.items()} for session, found in days.items()}


def keep_checkpoint(snapshot: IndexSnapshot, place: str, checkpoint: Checkpoint) -> None:
    """Write down what an export was made from, whole or not at all.

    Raises:
        NotWritable: the index directory cannot be written.
    """
    content = json.dumps(
        {
            "basis": checkpoint.basis,
            "manifest_sha256": checkpoint.manifest_sha256,
            "runs": checkpoint.runs,
            "tables": {name: _mark_document(mark) for name, mark in checkpoint.tables.items()},
        }
    ).encode()
    directory, name = snapshot.location.directory, _name(place)
    beside = f".{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(beside, flags, 0o600, dir_fd=directory), "wb") as file:
            file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        os.replace(beside, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError as error:
        raise not_writable(snapshot.location.path / name, error) from error


def _mark_document(mark: TableMark) -> dict[str, object]:
    days = None if mark.days is None else {session: _texts(found) for session, found in mark.days.items()}
    return {"rows": mark.rows, "unrepresentable": mark.unrepresentable, "digest": mark.digest, "days": days}


def _texts(found: Mapping[date, int]) -> dict[str, int]:
    return {day.isoformat(): rows for day, rows in found.items()}


def _name(place: str) -> str:
    return f"export-{hashlib.sha256(place.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.json"


def changed_runs(checkpoint: Checkpoint, marks: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the runs that came or changed since, and those that went or changed."""
    now, then = marks.items(), checkpoint.runs.items()
    return {session for session, _ in now - then}, {session for session, _ in then - now}


def days_of(days: DaysOfRuns, sessions: Iterable[str]) -> set[date]:
    """Return the days on which some runs have rows."""
    return {day for session in sessions for day in days.get(session, ())}
