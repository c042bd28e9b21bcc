"""The receipt of a prune: a journal in ``prune-receipts/``, written ahead of every deletion.

First the plan, then for each subject its files in ``listing`` records and an ``intent`` that closes them, then, once
they are gone, an ``outcome``; an ``end`` makes the receipt complete and read-only. A record is one write with its
newline on a descriptor opened for appending, and is on the disk before anything that it announces is done.
"""

import getpass
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agent_workflow.evidence_schemas import PruneReceipt
from agent_workflow.index_store.errors import EvidenceError, NotWritable, UnsafePath
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.retention.writing import encoded
from agent_workflow.index_store.state_root import StateRoot, not_writable
from agent_workflow.index_store.writer_lock import try_lock

RECEIPTS_DIRECTORY = "prune-receipts"
SCHEMA = "agent-workflow/prune-receipt/v1"
_SUFFIX = ".jsonl"
_APPEND = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_LISTED_TOGETHER = 1_000
"""Files of one listing record: a record stays small whatever a run holds."""

Step = Callable[[str], None]


class PruneBusy(NotWritable):
    """Another prune is at work in this state root."""


@dataclass
class OpenIntent:
    """A subject whose deletion was announced, and how far its receipt tells.

    Attributes:
        record: the intent.
        files: what was listed for it.
        outcome: the latest word; None where none was written.
    """

    record: PruneReceipt
    files: list[Mapping[str, object]] = field(default_factory=list)
    outcome: str | None = None


class Receipt:
    """One receipt, open for appending."""

    def __init__(self, directory: int, name: str, plan_sha256: str, shown_as: str, step: Step, *, new: bool) -> None:
        """Open or make the file and take back a record that was cut off.

        Raises:
            OSError: it cannot be opened.
        """
        self.name = name
        self.path = f"{shown_as}/{name}"
        self.plan_sha256 = plan_sha256
        self._step = step
        flags = _APPEND | (os.O_CREAT | os.O_EXCL if new else 0)
        try:
            self._descriptor = os.open(name, flags, 0o600, dir_fd=directory)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise UnsafePath(f"{self.path} is no regular file", path=self.path)
        self._take_back_torn_tail()
        if new:
            os.fsync(directory)

    def append(self, event: str, **fields: object) -> None:
        """Write one record and wait until the disk has it.

        Raises:
            NotWritable: it is not in the receipt; the receipt is as it was.
        """
        record = {
            "schema": SCHEMA,
            "event": event,
            "recorded_at": datetime.now(UTC).isoformat(),
            "plan_sha256": self.plan_sha256,
            **fields,
        }
        data = encoded(record)
        self._step(f"append {event}")
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, data)
            if written != len(data):
                os.ftruncate(self._descriptor, size)
                raise OSError(28, "No space left for the whole record")
            os.fsync(self._descriptor)
        except OSError as error:
            raise NotWritable(
                f"cannot write {self.path}: {error.strerror}",
                path=self.path,
                hint="leave room on its disk; nothing was deleted without its record",
            ) from error
        self._step(f"appended {event}")

    def announce(self, subject: str, path: str, files: Sequence[Mapping[str, object]], **fields: object) -> None:
        """Write what is about to be deleted: all its files, then the intent."""
        for start in range(0, len(files), _LISTED_TOGETHER):
            part = list(files[start : start + _LISTED_TOGETHER])
            self.append("listing", subject=subject, path=path, files=part)
        self.append("intent", subject=subject, path=path, file_count=len(files), **fields)

    def close(self, *, complete: bool) -> None:
        """Close it; a complete one takes no more records."""
        if self._descriptor >= 0:
            if complete:
                os.fchmod(self._descriptor, 0o400)
            os.close(self._descriptor)
            self._descriptor = -1

    def _take_back_torn_tail(self) -> None:
        """A record without its newline was never acknowledged, and nothing that it announces was done."""
        size = os.fstat(self._descriptor).st_size
        data = os.pread(self._descriptor, size, 0)
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.ftruncate(self._descriptor, whole)


@contextmanager
def receipts_directory(root: StateRoot, *, create: bool) -> Iterator[int | None]:
    """Open ``prune-receipts/`` and hold it; None where it is not there.

    Raises:
        UnsafePath: a link, no directory, somebody else's, or writable by others.
        PruneBusy: another prune is at work.
        NotWritable: it cannot be made, or its file system has no locks.
    """
    if create:
        try:
            os.mkdir(RECEIPTS_DIRECTORY, 0o700, dir_fd=root.descriptor)  # the umask can only take more away
            os.fsync(root.descriptor)
        except FileExistsError:
            pass
        except OSError as error:
            raise not_writable(root.path / RECEIPTS_DIRECTORY, error) from error
    with root.directory(RECEIPTS_DIRECTORY) as descriptor:
        path = root.path / RECEIPTS_DIRECTORY
        if descriptor is not None and not try_lock(descriptor, path):
            raise PruneBusy("another prune is at work in this state root", path=str(path), hint="wait for it to end")
        yield descriptor


def new_receipt(directory: int, plan_sha256: str, shown_as: str, step: Step) -> Receipt:
    """Make the receipt of a prune that begins now."""
    began = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return Receipt(directory, f"{began}-{plan_sha256[:12]}{_SUFFIX}", plan_sha256, shown_as, step, new=True)


def unfinished(directory: int) -> list[str]:
    """Name the receipts that are not complete, the oldest first."""
    names = []
    with os.scandir(directory) as entries:
        for entry in entries:
            is_receipt = entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False)
            if is_receipt and entry.stat(follow_symlinks=False).st_mode & stat.S_IWUSR:
                names.append(entry.name)
    return sorted(names)


@dataclass
class ReadReceipt:
    """What an unfinished receipt says.

    Attributes:
        plan_sha256: digest of the plan; None where not even the plan was written.
        intents: announced subjects by path.
        ended: the end was written.
    """

    plan_sha256: str | None = None
    intents: dict[str, OpenIntent] = field(default_factory=dict)
    ended: bool = False


def read_receipt(directory: int, name: str) -> ReadReceipt:
    """Read a receipt; a tail without newline does not count.

    Raises:
        EvidenceError: a record in it is damaged: nobody can say what it announced.
        OSError: it cannot be read.
    """
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as file:
        lines = file.read().split(b"\n")[:-1]
    read, reader = ReadReceipt(), RecordReader()
    listed: dict[str, list[Mapping[str, object]]] = {}
    for number, line in enumerate(lines, 1):
        record = reader.parse(line, name, number).model
        if not isinstance(record, PruneReceipt):
            raise EvidenceError("is no record of a prune", name, number)
        read.plan_sha256 = read.plan_sha256 or record.plan_sha256
        path = record.path or ""
        if record.event == "listing":
            listed.setdefault(path, []).extend(file.model_dump() for file in record.files or ())
        elif record.event == "intent":
            read.intents[path] = OpenIntent(record, listed.pop(path, []))
        elif record.event == "outcome" and path in read.intents:
            read.intents[path].outcome = record.outcome
        elif record.event == "end":
            read.ended = True
    return read


def actor() -> dict[str, object]:
    """Say who prunes: user, id, host and process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # no name for this user id, as in containers
        user = str(os.getuid())
    return {"user": user, "uid": os.getuid(), "host": socket.gethostname(), "pid": os.getpid()}
