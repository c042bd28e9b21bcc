"""Files of evidence on disk: a run directory, a state root, their bytes and digests."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

Document = dict[str, Any]

CATALOG = "command-catalog.json"
CARD = "command-card.md"
RECEIPT = "final-receipt.json"
DIGEST = "5" * 64


def moment(second: int) -> str:
    """Return a time, so many seconds into the day that all our evidence is about."""
    return (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=second)).isoformat()


def encode(document: object) -> bytes:
    """Return a document as the bytes of a file or, without its newline, of a journal's line."""
    return json.dumps(document, sort_keys=True).encode() + b"\n"


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in lower-case hex."""
    return sha256(data).hexdigest()


@dataclass(frozen=True)
class RunDirectory:
    """One run's evidence on disk."""

    path: Path

    @property
    def session_id(self) -> str:
        """The id of the run: the name of its directory."""
        return self.path.name

    def write(self, name: str, content: object, *, mode: int = 0o600) -> Path:
        """Write one file, below directories that are made; bytes and text as they are, anything else as JSON."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        data = content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
        path.write_bytes(encode(content) if data is None else data)
        path.chmod(mode)
        return path

    def write_journal(self, name: str, records: Iterable[object]) -> Path:
        """Write a journal of one record a line."""
        return self.write(name, b"".join(encode(record) for record in records))

    def append(self, name: str, *records: object) -> None:
        """Append records to a journal."""
        with (self.path / name).open("ab") as journal:
            journal.write(b"".join(encode(record) for record in records))

    def read(self, name: str) -> Any:
        """Read a document back."""
        return json.loads((self.path / name).read_bytes())

    def lines(self, name: str) -> list[bytes]:
        """Return the lines of a journal, without their newlines."""
        return (self.path / name).read_bytes().split(b"\n")[:-1]

    def rewrite(self, name: str, changes: Mapping[str, object]) -> None:
        """Write a document again with some of its fields changed; its mode stays."""
        mode = (self.path / name).stat().st_mode & 0o777
        self.write(name, self.read(name) | dict(changes), mode=mode)

    def seal(self, names: Iterable[str], **changes: object) -> str:
        """Write the receipt over the files as they are now, read-only, and return its digest."""
        artifacts = [artifact(self.path, name) for name in names]
        path = self.write(RECEIPT, final_receipt(self.session_id, artifacts) | changes, mode=0o444)
        return digest(path.read_bytes())


@dataclass(frozen=True)
class EvidenceRoot:
    """A state root on disk, as the index expects it: owner-only."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "EvidenceRoot":
        """Make an empty state root."""
        for directory in (path, path / "runs", path / "archive", path / "evidence-repairs"):
            directory.mkdir(mode=0o700)
        return cls(path)

    @property
    def database(self) -> Path:
        """Where the index keeps its database."""
        return self.path / "index" / "agent-workflow.sqlite3"

    def run(self, session_id: str, *, archived: bool = False) -> RunDirectory:
        """Return a run's directory, made if it is missing."""
        path = self.path / ("archive" if archived else "runs") / session_id
        path.mkdir(mode=0o700, exist_ok=True)
        return RunDirectory(path)


def artifact(directory: Path, name: str) -> Document:
    """Return a receipt's entry for a file as it is now."""
    data = (directory / name).read_bytes()
    return {"path": name, "size": len(data), "sha256": digest(data)}


def final_receipt(session_id: str, artifacts: list[Document]) -> Document:
    """Return a ``final-receipt/v1``."""
    return {
        "schema": "agent-workflow/final-receipt/v1",
        "session_id": session_id,
        "sealed_at": moment(90),
        "artifacts": artifacts,
    }
