"""What may happen to each run, judged from its files alone: a stale or missing index never decides a deletion."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import apsw

from agent_workflow.evidence_schemas import EvidenceRepair, FinalReceipt, LifecycleArchive, SessionStatus
from agent_workflow.index_store.database import migrate
from agent_workflow.index_store.discovery import Candidate, Discovery, Storage, discover, open_run, open_storage
from agent_workflow.index_store.documents import FINAL_RECEIPT, FINAL_STATUS, STATUS
from agent_workflow.index_store.errors import EvidenceError
from agent_workflow.index_store.indexing import RunIndexer
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.retention.inventory import Inventory, take_inventory
from agent_workflow.index_store.review import lifecycle_receipts
from agent_workflow.index_store.run_writer import RunWriter
from agent_workflow.index_store.scanning import scan_candidate
from agent_workflow.index_store.sealing import check_seal, read_document
from agent_workflow.index_store.state_root import REPAIRS_DIRECTORY, STORAGE_DIRECTORIES, StateRoot, StorageClass

UNSEALED_QUIET_SECONDS = 7 * 86_400.0
"""How long nothing of an ended run without a seal must have changed before it may be deleted: somebody may seal it."""

_ENDED = frozenset({"completed", "failed", "interrupted", "killed"})
_ARCHIVE_PLAN = "archive-plan.json"
_REPAIR = "evidence-repair.json"
_HELD_CLASSES = ("legal-hold", "release")
_HELD_CLEANUPS = ("retained", "blocked")


@dataclass(frozen=True)
class RunFacts:
    """A run that has ended and is good evidence.

    Attributes:
        session_id: the run.
        storage_class: ``active`` or ``archive``.
        ended_at: when it was sealed; without a seal, the newest change of a file; seconds of the epoch.
        final_receipt_sha256: digest of the receipt; None without a seal.
        lifecycle_actions: what its lifecycle receipts say, in order; empty where it was never reviewed.
        accepted_revision: the revision of the last receipt that accepts it.
        hold: why it may be archived and not deleted, for example a legal hold; None where it may.
        fingerprint: of everything in its directory.
        file_count: files and links in it.
        size_bytes: sum of their sizes.
        device, inode: of the directory.
    """

    session_id: str
    storage_class: StorageClass
    ended_at: float
    final_receipt_sha256: str | None
    lifecycle_actions: tuple[str, ...]
    accepted_revision: str | None
    hold: str | None
    fingerprint: str
    file_count: int
    size_bytes: int
    device: int
    inode: int

    @property
    def path(self) -> str:
        """Path below the state root."""
        return f"{STORAGE_DIRECTORIES[self.storage_class]}/{self.session_id}"


@dataclass(frozen=True)
class KeptRun:
    """A run that is left alone.

    Attributes:
        session_id: the run.
        path: below the state root.
        reason: ``running``, ``unsealed``, ``recent``, ``error``, ``held``, ``unreviewed``, ``busy``,
            ``duplicate``, ``changed``, ``exists``, ``unknown`` or ``failed``.
        detail: in words.
        size_bytes: what it takes, where that could be found out.
    """

    session_id: str
    path: str
    reason: str
    detail: str
    size_bytes: int = 0


class Keep(Exception):
    """A run must be left alone."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Judge:
    """Judges runs one by one; close it when done."""

    def __init__(self, root: StateRoot) -> None:
        self._root = root
        self._stack = ExitStack()
        self.storage: Storage = self._stack.enter_context(open_storage(root))
        self._reader = RecordReader()
        self._connection = apsw.Connection(":memory:")
        self._stack.callback(self._connection.close)
        self._connection.transaction_mode = "IMMEDIATE"
        migrate(self._connection)
        self._indexer = RunIndexer(self._connection, fresh=False)
        self._writer = RunWriter(self._connection)
        self._repaired = frozenset(self._repaired_runs())

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def runs(self) -> Discovery:
        """List the run directories."""
        return discover(self._root)

    @contextmanager
    def locked(self, candidate: Candidate) -> Iterator[int]:
        """Hold a run's directory as its writers do, and give its descriptor.

        Raises:
            Keep: it is gone or no directory, or a writer holds it.
        """
        storage = self.storage[candidate.storage_class]
        try:
            if storage is None:
                raise FileNotFoundError(candidate.session_id)
            directory = open_run(candidate, storage)
        except OSError as error:
            raise Keep("error", f"the run directory cannot be opened: {os.strerror(error.errno or 0)}") from error
        try:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Keep("busy", "somebody is writing it at this moment") from error
            except OSError as error:  # a file system without locks: nobody can say that no writer is at work
                raise Keep("error", f"it cannot be locked: {error.strerror}") from error
            yield directory
        finally:
            os.close(directory)

    def judge(self, candidate: Candidate, directory: int) -> tuple[RunFacts, Inventory]:
        """Judge a run that is held.

        Args:
            candidate: the run.
            directory: its descriptor, from :meth:`locked`.

        Raises:
            Keep: why it must be left alone.
        """
        if candidate.has_archived_twin:
            raise Keep("duplicate", "runs/ and archive/ both have a run of this id")
        try:
            inventory = take_inventory(directory)
            self._refuse_error(candidate)
            ended_at, receipt_sha256 = self._ending(candidate, directory, inventory)
            hold = self._hold(candidate, directory)
            receipts = lifecycle_receipts(candidate.session_id, directory, receipt_sha256, self._reader)
        except EvidenceError as error:
            raise Keep("error", error.detail) from error
        except OSError as error:
            raise Keep("error", f"it cannot be read: {error.strerror}") from error
        status = os.fstat(directory)
        return RunFacts(
            session_id=candidate.session_id,
            storage_class=candidate.storage_class,
            ended_at=ended_at,
            final_receipt_sha256=receipt_sha256,
            lifecycle_actions=tuple(receipt.action for receipt in receipts),
            accepted_revision=next((r.revision for r in reversed(receipts) if r.action == "accepted"), None),
            hold=hold,
            fingerprint=inventory.fingerprint,
            file_count=len(inventory.entries),
            size_bytes=inventory.size_bytes,
            device=status.st_dev,
            inode=status.st_ino,
        ), inventory

    def _refuse_error(self, candidate: Candidate) -> None:
        """Read the whole run as an index would; what a sync reports as an error is left alone."""
        storage = self.storage[candidate.storage_class]
        if storage is None:
            raise Keep("error", "it is gone")
        try:
            outcome = self._indexer.index(candidate, scan_candidate(candidate, self.storage), self.storage, whole=True)
        finally:
            # Its rows are not wanted, and ten thousand runs would not fit into memory.
            with self._connection:
                self._writer.clear(candidate.session_id)
        if outcome.error is not None:
            raise Keep("error", outcome.error.detail)

    def _ending(self, candidate: Candidate, directory: int, inventory: Inventory) -> tuple[float, str | None]:
        storage = self.storage[candidate.storage_class]
        if storage is None:
            raise Keep("error", "it is gone")
        seal = check_seal(candidate, storage)
        if seal.error is not None:
            raise Keep("error", seal.error.detail)
        if seal.verdict == "incomplete":
            raise Keep("error", "sealed under a launch contract that this version does not know")
        path = FINAL_STATUS if any(entry.path == FINAL_STATUS for entry in inventory.entries) else STATUS
        status = read_document(directory, path, self._reader)
        if not isinstance(status, SessionStatus):
            raise Keep("running", "nothing says that it has ended")
        if status.status not in _ENDED:
            raise Keep("running", f"{path} says {status.status}")
        if seal.verdict == "unsealed":
            return inventory.newest_change_ns / 1e9, None
        receipt = read_document(directory, FINAL_RECEIPT, self._reader)
        sealed_at = _moment(receipt.sealed_at) if isinstance(receipt, FinalReceipt) else None
        if sealed_at is None:
            raise Keep("error", f"{FINAL_RECEIPT} does not say when it was sealed")
        return sealed_at, seal.receipt_sha256

    def _hold(self, candidate: Candidate, directory: int) -> str | None:
        plan = read_document(directory, _ARCHIVE_PLAN, self._reader)
        if isinstance(plan, LifecycleArchive):
            if plan.retention_class in _HELD_CLASSES:
                return f"{_ARCHIVE_PLAN} says {plan.retention_class}"
            if plan.cleanup_status in _HELD_CLEANUPS:
                return f"{_ARCHIVE_PLAN} says that its cleanup is {plan.cleanup_status}"
        return "an evidence repair refers to it" if candidate.session_id in self._repaired else None

    def _repaired_runs(self) -> Iterator[str]:
        """Name the runs that repairs refer to; a repair that cannot be read is the index's to report."""
        with self._root.directory(REPAIRS_DIRECTORY) as repairs:
            if repairs is None:
                return
            for name in sorted(os.listdir(repairs)):
                try:
                    directory = open_run(Candidate(name, "active"), repairs)
                except OSError:
                    continue
                try:
                    record = read_document(directory, _REPAIR, self._reader)
                except EvidenceError:
                    continue
                finally:
                    os.close(directory)
                if isinstance(record, EvidenceRepair):
                    yield record.source.session_id


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
