"""Finishing prunes that were killed: what was announced is deleted whole or still whole, and the receipt says which."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_workflow.evidence_schemas import PruneReceipt
from agent_workflow.index_store.discovery import ID_PATTERN
from agent_workflow.index_store.errors import DamagedReceipt, EvidenceError
from agent_workflow.index_store.retention.receipts import RECEIPTS_DIRECTORY, OpenIntent, Receipt, Step, read_receipt
from agent_workflow.index_store.retention.removal import holds_listed, remove_staged
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StateRoot


@dataclass(frozen=True)
class PruneOutcome:
    """What became of one subject.

    Attributes:
        subject: ``run`` or ``trace-session``.
        path: below the state root; of a trace session, the absolute path of its directory.
        outcome: ``deleted``, ``kept`` (nothing of it was deleted) or ``left`` (something is still staged).
        reason: why it was not deleted.
        files: files that were deleted.
        size_bytes: what they took.
        left: paths that are still there, each with what keeps it.
        resumed: an interrupted prune was finished.
    """

    subject: str
    path: str
    outcome: str
    reason: str = ""
    files: int = 0
    size_bytes: int = 0
    left: tuple[str, ...] = ()
    resumed: bool = False

    def to_record(self) -> dict[str, object]:
        """Return the fields of its record in the receipt."""
        return {
            "subject": self.subject,
            "path": self.path,
            "outcome": self.outcome,
            "reason": self.reason,
            "file_count": self.files,
            "size_bytes": self.size_bytes,
            "left": list(self.left),
            "resumed": self.resumed,
        }


TraceRecovery = Callable[[PruneReceipt, Sequence[Mapping[str, object]]], PruneOutcome]
"""Finishes the deletion of a trace session from its intent and its files."""


def finish_receipt(
    root: StateRoot, directory: int, name: str, recover_trace: TraceRecovery | None, step: Step
) -> list[PruneOutcome]:
    """Finish what one interrupted prune announced, and complete its receipt.

    Args:
        root: the open state root.
        directory: descriptor of ``prune-receipts/``.
        name: of the receipt.
        recover_trace: finishes trace sessions; without it they wait, and the receipt stays open.
        step: called before each change.

    Returns:
        What became of the subjects that had no final word.

    Raises:
        DamagedReceipt: a record in the middle is damaged: nobody can say what was announced.
        NotWritable: the receipt takes no records.
    """
    shown = f"{root.path}/{RECEIPTS_DIRECTORY}"
    try:
        read = read_receipt(directory, name)
    except EvidenceError as error:
        hint = "see what it announced, then move it out of the folder; nothing is pruned until then"
        raise DamagedReceipt(f"{shown}/{error.detail}", path=f"{shown}/{name}", hint=hint) from error
    if read.plan_sha256 is None and not read.intents:
        # Killed before the plan was written: nothing was announced.
        os.unlink(name, dir_fd=directory)
        return []
    receipt = Receipt(directory, name, read.plan_sha256 or "", shown, step, new=False)
    outcomes: list[PruneOutcome] = []
    is_complete = False
    try:
        words = [
            _finish_intent(root, path, intent, recover_trace, receipt, outcomes, step)
            for path, intent in read.intents.items()
            if intent.outcome not in _FINAL
        ]
        if set(words) <= set(_FINAL):
            if not read.ended and read.plan_sha256 is not None:
                receipt.append("end", resumed=True)
            is_complete = True
    finally:
        receipt.close(complete=is_complete)
    return outcomes


_FINAL = ("deleted", "kept")


def _finish_intent(
    root: StateRoot,
    path: str,
    intent: OpenIntent,
    recover_trace: TraceRecovery | None,
    receipt: Receipt,
    outcomes: list[PruneOutcome],
    step: Step,
) -> str | None:
    """Finish one subject and write its outcome, unless that is what was written before; return the word."""
    outcome = _finish(root, path, intent, recover_trace, step)
    if outcome is not None and outcome.outcome != intent.outcome:
        receipt.append("outcome", **outcome.to_record())
        outcomes.append(outcome)
    return None if outcome is None else outcome.outcome


def _finish(
    root: StateRoot, path: str, intent: OpenIntent, recover_trace: TraceRecovery | None, step: Step
) -> PruneOutcome | None:
    if intent.record.subject == "trace-session":
        return None if recover_trace is None else recover_trace(intent.record, intent.files)
    return _finish_run(root, path, intent, step)


def _finish_run(root: StateRoot, path: str, intent: OpenIntent, step: Step) -> PruneOutcome:
    folder, _, session_id = path.partition("/")
    staged_folder, _, staged = (intent.record.staged_path or "").partition("/")
    is_ours = folder in STORAGE_DIRECTORIES.values() and ID_PATTERN.fullmatch(session_id) is not None
    if not is_ours or staged_folder != folder or not staged.startswith(".pruned-") or "/" in staged:
        return PruneOutcome("run", path, "left", "its receipt names no place of a run", resumed=True)
    with root.directory(folder) as storage:
        if storage is None:
            return PruneOutcome("run", path, "left", f"{folder}/ is not there", resumed=True)
        found = _inode(storage, staged)
        if found is not None:
            return _finish_staged(storage, path, staged, intent, step, is_announced=found == intent.record.inode)
        if _inode(storage, session_id) == intent.record.inode and holds_listed(storage, session_id, intent.files):
            return PruneOutcome("run", path, "kept", "the prune was stopped before it was staged", resumed=True)
    size = sum(int(str(file["size"])) for file in intent.files)
    return PruneOutcome("run", path, "deleted", "", len(intent.files), size, resumed=True)


def _finish_staged(
    storage: int, path: str, staged: str, intent: OpenIntent, step: Step, *, is_announced: bool
) -> PruneOutcome:
    if not is_announced:
        reason = f"what stands at {staged} is not the directory that was announced"
        return PruneOutcome("run", path, "left", reason, resumed=True)
    try:
        removal = remove_staged(storage, staged, intent.files, step)
    except OSError as error:
        return PruneOutcome("run", path, "left", f"it cannot be deleted: {error.strerror}", resumed=True)
    word, reason = ("left", "something in it is not deleted") if removal.left else ("deleted", "")
    counts = (removal.deleted_files, removal.deleted_bytes, removal.left)
    return PruneOutcome("run", path, word, reason, *counts, resumed=True)


def _inode(storage: int, name: str) -> int | None:
    """Return what identifies a directory on its file system; a device has another number after a restart."""
    try:
        return os.stat(name, dir_fd=storage, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
