"""Journals: how far one was projected, and the rows of what came since.

A checkpoint is the digest of the complete records that were projected. Where the same bytes still begin the file, only
what follows them is parsed. Anything else makes the run be read whole, so the rows are always those of a rebuild.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from agent_workflow.evidence_schemas import Record
from agent_workflow.index_store.errors import InvalidRecord
from agent_workflow.index_store.projection import (
    TYPED_TABLES,
    GenericColumns,
    RecordKey,
    TypedTable,
    payload_columns,
    schema_id_of,
)
from agent_workflow.index_store.records import ParsedRecord, RecordReader
from agent_workflow.index_store.run_writer import JOURNAL_TABLES
from agent_workflow.index_store.values import Row

_PIECE_BYTES = 128 * 1024


class Checkpoint(NamedTuple):
    """How much of a journal has been projected."""

    complete_bytes: int
    """Length of the projected prefix, which ends in a newline."""
    record_count: int
    prefix_sha256: str


EXECUTOR_EVENTS = "executor-events.jsonl"
"""What an agent program printed, kept as it came. A line of it that is no record is the program's, not a fault of the
evidence: it is indexed by its provenance, and told."""

NOTHING = Checkpoint(0, 0, sha256().hexdigest())


@dataclass
class JournalProgress:
    """What projecting a journal found.

    Attributes:
        checkpoint: the new checkpoint.
        sha256: digest of the whole file as it was read, a torn tail included.
        parsed: records parsed this time.
        schema_ids: contract ids met this time.
        torn_bytes: length of a last line without newline, which waits.
        foreign_lines: lines of :data:`EXECUTOR_EVENTS` that are no records.
        first_foreign_line: what is wrong with the first of them.
    """

    checkpoint: Checkpoint
    sha256: str
    torn_bytes: int
    parsed: int = 0
    schema_ids: set[str] = field(default_factory=set)
    foreign_lines: int = 0
    first_foreign_line: InvalidRecord | None = None


RowWriter = Callable[[str, list[Row]], None]
"""Takes the name of a journal table and rows for it."""


def continues(data: bytes, checkpoint: Checkpoint) -> bool:
    """Tell whether a journal's bytes still begin with what the checkpoint covers."""
    size = checkpoint.complete_bytes
    return len(data) >= size and sha256(memoryview(data)[:size]).hexdigest() == checkpoint.prefix_sha256


@dataclass(frozen=True)
class _ContractRows:
    """How the records of one contract become rows."""

    contract_id: str
    generic: GenericColumns
    typed: TypedTable | None


class JournalProjector:
    """Turns the records of journals into rows; keeps what it looked up per contract."""

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader
        self._rows_of: dict[type[Record], _ContractRows] = {}

    def project(self, session_id: str, path: str, data: bytes, since: Checkpoint, write: RowWriter) -> JournalProgress:
        """Project the records behind a checkpoint.

        Args:
            session_id: the run.
            path: the journal's path below the run directory.
            data: its bytes, which begin with what ``since`` covers.
            since: where to start; :data:`NOTHING` for the whole journal.
            write: takes the rows in batches, in the order of the records.

        Raises:
            InvalidRecord, HistoricalArtifact: a complete record does not pass. Rows may have been written already.
        """
        end = data.rfind(b"\n") + 1
        digest = sha256(memoryview(data)[:end])
        progress = JournalProgress(Checkpoint(end, since.record_count, digest.hexdigest()), "", len(data) - end)
        digest.update(memoryview(data)[end:])
        progress.sha256 = digest.hexdigest()
        for text, lines in _pieces(data, since.complete_bytes, end):
            models = self._reader.quick_parser(path)(text, lines)
            self._project_lines(session_id, path, lines, models, since.record_count, progress, write)
        progress.checkpoint = progress.checkpoint._replace(record_count=since.record_count + progress.parsed)
        return progress

    def _project_lines(
        self,
        session_id: str,
        path: str,
        lines: Sequence[bytes],
        models: Sequence[Record | None],
        before: int,
        progress: JournalProgress,
        write: RowWriter,
    ) -> None:
        """Project some lines; those without a model are parsed. ``before`` is the checkpoint's record count."""
        events: list[Row] = []
        typed: dict[str, list[Row]] = {table: [] for table in JOURNAL_TABLES[1:]}
        first = before + progress.parsed + 1
        for sequence, (raw, quick_model) in enumerate(zip(lines, models, strict=True), first):
            model = quick_model
            digest = sha256(raw).hexdigest()
            if model is None:
                record = self._parse(raw, path, sequence, progress)
                model = record.model
                if model is None:
                    events.append(_payload_row(record, (session_id, path, sequence), digest, progress))
                    continue
            rows = self._rows_of.get(type(model)) or self._look_up(model)
            progress.schema_ids.add(rows.contract_id)
            generic = rows.generic.read(model, path, sequence)
            events.append((session_id, path, sequence, rows.contract_id, *generic, digest))
            if rows.typed is not None:
                typed[rows.typed.name].append((session_id, path, sequence, *rows.typed.columns(model), digest))
        progress.parsed += len(lines)
        write(JOURNAL_TABLES[0], events)
        for table, table_rows in typed.items():
            if table_rows:
                write(table, table_rows)

    def _parse(self, raw: bytes, path: str, sequence: int, progress: JournalProgress) -> ParsedRecord:
        try:
            return self._reader.parse(raw, path, sequence)
        except InvalidRecord as error:
            if path != EXECUTOR_EVENTS:
                raise
            progress.foreign_lines += 1
            progress.first_foreign_line = progress.first_foreign_line or error
            return ParsedRecord(None, None, None)

    def _look_up(self, model: Record) -> _ContractRows:
        contract_id: str = model.__dict__["schema_"]
        kind = type(model)
        rows = _ContractRows(contract_id, GenericColumns.of_model(kind), TYPED_TABLES.get(kind))
        self._rows_of[kind] = rows
        return rows


def _pieces(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield the lines between two ends of lines, some at a time: in one piece, and each without its newline."""
    while start < end:
        cut = data.index(b"\n", min(start + _PIECE_BYTES, end) - 1) + 1
        text = data[start:cut]
        if len(text) > 2 * _PIECE_BYTES:  # a line of many megabytes ends it: not to be copied more often than need be
            yield text, text[:-1].split(b"\n")
        else:
            yield text, [line[:-1] for line in io.BytesIO(text)]
        start = cut


def _payload_row(record: ParsedRecord, key: RecordKey, digest: str, progress: JournalProgress) -> Row:
    schema_id = schema_id_of(record)
    if schema_id is not None:
        progress.schema_ids.add(schema_id)
    return (*key, schema_id, *payload_columns(record), digest)
