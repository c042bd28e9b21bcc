"""The recorder's view of one stream: what the spill holds becomes lines of the session's file, without secrets."""

import os
from collections.abc import Iterator
from typing import IO, Final

from agent_workflow.tracer._agent_process import Lines
from agent_workflow.tracer._redaction import Redactor

_PIECE: Final = 1 << 20
_ROOM_BYTES: Final = 1 << 24


class Stream:
    """One stream.

    Attributes:
        offset: up to where it was read.
        base: byte of the stream with which the spill begins.
        lost: bytes that never got into the spill.
        fault: why the file has not everything, empty when it has.
    """

    def __init__(self, spill: int, file: IO[bytes], redactor: Redactor) -> None:
        """Begin at the beginning.

        Args:
            spill: its descriptor, -1 for none.
            file: takes the lines.
            redactor: replaces secrets in what is stored; lines that are handed on are as they came.
        """
        self.offset = 0
        self.base = 0
        self.lost = 0
        self.fault = ""
        self._spill = spill
        self._redactor = redactor
        self._lines = Lines(file)

    @property
    def wants_room(self) -> bool:
        """Whether the spill is so large that it should be emptied."""
        return self.offset - self.base >= _ROOM_BYTES

    def advance(self, total: int) -> Iterator[bytes]:
        """Store what has come and yield its lines, without newlines.

        Args:
            total: bytes that have come since the beginning.
        """
        while self.offset < total:
            data = os.pread(self._spill, min(_PIECE, total - self.offset), self.offset - self.base)
            if not data:
                return
            self.offset += len(data)
            yield from self._store(self._lines.split(data))

    def rest(self) -> Iterator[bytes]:
        """Store what the spill holds beyond what was told, and the last line, which may lack its newline."""
        if self._spill >= 0:
            yield from self.advance(self.base + os.fstat(self._spill).st_size)
        yield from self._store(self._lines.split(b""))

    def _store(self, lines: list[bytes]) -> list[bytes]:
        if lines:
            try:
                self._lines.store(lines, self._redactor)
            except OSError as error:
                self.fault = f"{self._lines.file.name}: {error.strerror}"
        return lines
