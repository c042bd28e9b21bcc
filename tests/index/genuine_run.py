"""A genuine run directory, read by plain means: its documents and the lines of its journals."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from .index_reading import Cell

NAMESPACE = "agent-workflow/"


class Line(NamedTuple):
    """One record of a journal, with the bytes it was written in."""

    path: str
    number: int
    raw: bytes
    record: Any

    @property
    def contract(self) -> str | None:
        """The contract that the record names."""
        name = self.record.get("schema") if isinstance(self.record, dict) else None
        return name if isinstance(name, str) else None


@dataclass(frozen=True)
class GenuineRun:
    """One run directory, read plainly."""

    path: Path

    @property
    def session_id(self) -> str:
        """The directory's name."""
        return self.path.name

    @property
    def storage_class(self) -> str:
        """Where it lies."""
        return "archive" if self.path.parent.name == "archive" else "active"

    @cached_property
    def sources(self) -> list[str]:
        """Paths of the regular ``.json`` and ``.jsonl`` files."""
        files = (path for path in self.path.rglob("*") if path.suffix in (".json", ".jsonl"))
        return sorted(str(path.relative_to(self.path)) for path in files if path.is_file() and not path.is_symlink())

    @cached_property
    def lines(self) -> list[Line]:
        """Every complete record of every journal."""
        return [
            Line(name, number, raw, json.loads(raw))
            for name in self.sources
            if name.endswith(".jsonl")
            for number, raw in enumerate((self.path / name).read_bytes().split(b"\n")[:-1], 1)
        ]

    def document(self, name: str, contract: str = "") -> dict[str, Any] | None:
        """Read a document; None where there is none, or it follows a contract of another name."""
        path = self.path / name
        if not path.is_file():
            return None
        document: dict[str, Any] = json.loads(path.read_bytes())
        return document if str(document.get("schema", "")).startswith(NAMESPACE + contract) else None

    def sha256(self, name: str) -> str:
        """Return the digest of a file."""
        return sha256((self.path / name).read_bytes()).hexdigest()


def first(*values: Any) -> Any:
    """Return the first value that is present."""
    return next((value for value in values if value is not None), None)


def scalar(value: Any) -> Cell:
    """Return what a column holds: a string, a number, a boolean as 0 or 1, nothing else."""
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (str, int, float)) else None
