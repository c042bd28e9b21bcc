"""Taking one file into the ledger: the new part of one that grew, all of one that is new or was replaced."""

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from agent_workflow.tracer._ids import is_valid_id
from agent_workflow.tracer._json import MAX_LINE_BYTES, decode_record
from agent_workflow.tracer.importing._batch import Batch
from agent_workflow.tracer.importing._formats import READERS, reader_for, refresh
from agent_workflow.tracer.importing._items import MAIN, Item, SessionFacts
from agent_workflow.tracer.importing._ledger import Ledger, Source
from agent_workflow.tracer.importing._reading import SessionReader
from agent_workflow.tracer.importing._source_files import Looked, mark_of, open_source, whole_lines

_BEGINNING: Final = 256 * 1024
_MOST_DAMAGED: Final = 100
_DOCUMENT: Final = ".json"
_LINE_ENDS: Final = (b"}\n", b"}\r\n")


@dataclass(slots=True)
class Taken:
    """What came of one file.

    Attributes:
        agent: whose it is, empty for what is nobody's session.
        bytes_read: of its content.
        waiting: bytes at its end that belong to no whole line.
        damaged: sentences on lines that could not be read now, the first hundred of them.
        more_damaged: how many there were beyond these.
    """

    agent: str = ""
    bytes_read: int = 0
    waiting: int = 0
    damaged: list[str] = field(default_factory=list)
    more_damaged: int = 0


def take_file(ledger: Ledger, path: Path, looked: Looked) -> Taken:
    """Read what is new in a file, in one transaction of the ledger.

    Args:
        ledger: that is told.
        path: absolute.
        looked: the file as it was found.

    Raises:
        OSError: it cannot be read; the ledger is as it was before.
    """
    with open_source(path) as opened:
        known = ledger.source(str(path))
        if known is None:
            known = _renamed(ledger, path, looked, opened)
        is_same = known is not None and _goes_on(known, looked, opened)
        if known is not None and is_same and looked.size == known.offset:
            ledger.looked(known.path, looked.size, looked.mtime_ns, time.time_ns())
            return Taken(str(known.facts.get("agent", "")))
        can_go_on = is_same and known is not None and known.adw_id and path.suffix != _DOCUMENT
        ledger.begin()
        try:
            taken = _Taking(ledger, path, looked, opened).run(known if can_go_on else None)
            ledger.commit()
        except BaseException:
            ledger.rollback()
            raise
    return taken


def _goes_on(known: Source, looked: Looked, opened: BinaryIO) -> bool:
    """Tell whether a file still has what was read of it; a replaced one may have got the same number."""
    return (
        (known.device, known.inode) == (looked.device, looked.inode)
        and looked.size >= known.offset
        and known.mark == mark_of(opened, known.offset)
    )


def _renamed(ledger: Ledger, path: Path, looked: Looked, opened: BinaryIO) -> Source | None:
    """Find out whether a new path is that of a file which was known under another one."""
    known = ledger.missing_file(looked.device, looked.inode)
    if known is None or known.offset == 0 or not _goes_on(known, looked, opened):
        return None
    ledger.rename(known, str(path))
    return ledger.source(str(path))


def take_document(ledger: Ledger, path: str, looked: Looked, record: dict[str, Any], damaged: list[str]) -> Taken:
    """Take in a session that is no file of its own: all of it, in place of what was known.

    Args:
        ledger: that is told.
        path: where it is, unique among all sources.
        looked: by which a change shows.
        record: as opencode exports it.
        damaged: sentences on what in it could not be read.
    """
    ledger.begin()
    try:
        reader = READERS["opencode"](facts=SessionFacts("opencode"))
        number = ledger.new_source(path)
        batch = Batch(ledger, number)
        for item in (*reader.read(record, 1), *reader.unsettled()):
            batch.add(item, 1)
        batch.flush()
        ledger.settle(_source(number, path, looked, reader, damaged, _Position(looked.size, 1, "", time.time_ns())))
        ledger.commit()
    except BaseException:
        ledger.rollback()
        raise
    return Taken("opencode", bytes_read=0, damaged=damaged)


class _Position(NamedTuple):
    """How far a source was read."""

    offset: int
    lines: int
    mark: str
    looked_ns: int


def _source(
    number: int, path: str, looked: Looked, reader: SessionReader, damaged: list[str], position: _Position
) -> Source:
    facts = reader.facts
    return Source(
        source=number,
        path=path,
        adw_id=session_name(reader.agent, facts.session_id or path),
        is_main=facts.lane == MAIN,
        **looked._asdict(),
        looked_ns=position.looked_ns,
        offset=position.offset,
        lines=position.lines,
        mark=position.mark,
        state=reader.dump(),
        facts=asdict(facts),
        first_at=reader.first_at,
        last_at=reader.last_at,
        damaged=damaged[:_MOST_DAMAGED],
    )


class _Taking:
    """One reading of one file.

    Attributes:
        offset, lines: up to where it has come.
        record: the content of a file that is one document.
    """

    def __init__(self, ledger: Ledger, path: Path, looked: Looked, opened: BinaryIO) -> None:
        self.ledger = ledger
        self.path = path
        self.looked = looked
        self.opened = opened
        self.offset = self.lines = 0
        self.record: dict[str, Any] = {}
        self.taken = Taken()

    def run(self, before: Source | None) -> Taken:
        """Read on behind what was read before, or everything."""
        looked_ns = time.time_ns()
        if before is not None:
            known = READERS[before.facts["agent"]].load(before.state)
            refresh(known.facts, self.path)
            reader: SessionReader | None = known
            self.offset, self.lines = before.offset, before.lines
        else:
            reader = reader_for(self.path, self._beginning())
        if reader is None:
            self._settle_foreign(looked_ns)
            return self.taken
        self.taken.agent = reader.agent
        if self.path.suffix == _DOCUMENT and not self._read_document():
            return self.taken  # being written, perhaps: what it said before holds until it can be read again
        start = self.offset
        number = before.source if before else self.ledger.new_source(str(self.path))
        batch = Batch(self.ledger, number)
        for item, line in self._items(reader):
            batch.add(item, line)
        for item in reader.unsettled():
            batch.add(item, 0)
        batch.flush()
        self.taken.bytes_read = self.offset - start
        self.taken.waiting = max(0, self.looked.size - self.offset)
        damaged = [*(before.damaged if before else []), *self.taken.damaged]
        position = _Position(self.offset, self.lines, mark_of(self.opened, self.offset), looked_ns)
        self.ledger.settle(_source(number, str(self.path), self.looked, reader, damaged, position))
        return self.taken

    def _beginning(self) -> bytes:
        """Return enough of the file to tell whose it is: its first line may be a very long prompt."""
        beginning = os.pread(self.opened.fileno(), _BEGINNING, 0)
        if b"\n" in beginning or len(beginning) < _BEGINNING:
            return beginning
        self.opened.seek(0)
        beginning = self.opened.readline(MAX_LINE_BYTES)
        self.opened.seek(0)
        return beginning

    def _items(self, reader: SessionReader) -> Iterator[tuple[Item, int]]:
        if self.path.suffix == _DOCUMENT:
            self.offset = self.looked.size
            for item in reader.read(self.record, 1):
                yield item, 1
            return
        for line, offset in whole_lines(self.opened, self.offset, self.lines):
            self.offset, self.lines = offset, line.number
            data = line.data
            if data is None:
                self._damaged(line.number, f"it is longer than {MAX_LINE_BYTES} bytes")
                continue
            if data[:1] == b"{" and data.endswith(_LINE_ENDS) and not _holds(data, reader.needles):
                continue  # of no use here: neither parsed nor judged
            if not data.strip():
                continue
            try:
                record = decode_record(data)
            except ValueError as error:
                self._damaged(line.number, str(error))
                continue
            for item in reader.read(record, line.number):
                yield item, line.number

    def _read_document(self) -> bool:
        try:
            self.record = decode_record(self.opened.read(MAX_LINE_BYTES + 1))
        except ValueError as error:
            self._damaged(1, str(error))
            return False
        return True

    def _damaged(self, number: int, reason: str) -> None:
        if len(self.taken.damaged) < _MOST_DAMAGED:
            self.taken.damaged.append(f"{self.path}, line {number}: {reason}")
        else:
            self.taken.more_damaged += 1

    def _settle_foreign(self, looked_ns: int) -> None:
        """Remember what is nobody's session, so that it is not opened again until it changes."""
        size = self.looked.size
        number = self.ledger.new_source(str(self.path))
        mark = mark_of(self.opened, size)
        self.ledger.settle(
            Source(number, str(self.path), "", True, *self.looked, looked_ns, size, 0, mark, {}, {}, "", "", [])
        )


def _holds(line: bytes, needles: tuple[bytes, ...]) -> bool:
    for needle in needles:  # noqa: SIM110 - for every line, and a generator takes as long as the search
        if needle in line:
            return True
    return False


def session_name(agent: str, session_id: str) -> str:
    """Name the session of a trace after an agent's: always the same, and good for a folder's name."""
    name = f"{agent}-{session_id}"
    if is_valid_id(name):
        return name
    return f"{agent}-{hashlib.sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:32]}"
