"""Deleting what a plan lists: announced in a receipt, staged by one rename, checked once more, then removed."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_workflow.index_store.discovery import Candidate
from agent_workflow.index_store.errors import EvidenceError, InvalidQuestion
from agent_workflow.index_store.retention.inventory import Inventory, take_inventory
from agent_workflow.index_store.retention.judging import Judge, Keep, RunFacts
from agent_workflow.index_store.retention.planning import PruneCriteria, RunPlan, refuse
from agent_workflow.index_store.retention.receipts import (
    RECEIPTS_DIRECTORY,
    PruneBusy,
    Receipt,
    Step,
    actor,
    new_receipt,
    receipts_directory,
    unfinished,
)
from agent_workflow.index_store.retention.recovery import PruneOutcome, TraceRecovery, finish_receipt
from agent_workflow.index_store.retention.removal import listing, refuse_read_only, remove_staged
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StateRoot, open_state_root

__all__ = ["PruneBusy", "PruneOutcome", "PruneSession", "prune_runs", "prune_session", "unfinished_receipts"]

STAGED_PREFIX = ".pruned-"


def _no_step(_name: str) -> None:
    """Stop nowhere."""


def unfinished_receipts(state_root: Path) -> tuple[str, ...]:
    """Name the receipts of prunes that were killed; the next prune that deletes finishes them first."""
    with open_state_root(state_root) as root:
        if root is None:
            return ()
        with root.directory(RECEIPTS_DIRECTORY) as directory:
            return () if directory is None else tuple(unfinished(directory))


@dataclass
class PruneSession:
    """One prune at work: it holds ``prune-receipts/`` and has finished what earlier ones left.

    Attributes:
        root: the open state root.
        recovered: what became of subjects of interrupted prunes.
        outcomes: what became of this one's, in order.
    """

    root: StateRoot
    recovered: tuple[PruneOutcome, ...]
    outcomes: list[PruneOutcome]
    _directory: int
    _step: Step
    _receipt: Receipt | None = None

    @property
    def receipt(self) -> Receipt:
        """The receipt; there is one after :meth:`begin`.

        Raises:
            InvalidQuestion: before that.
        """
        if self._receipt is None:
            raise InvalidQuestion("nothing is deleted without a receipt", hint="begin the prune first")
        return self._receipt

    def begin(self, plan_sha256: str, criteria: Mapping[str, object], totals: Mapping[str, int]) -> None:
        """Make the receipt and write the plan into it.

        Args:
            plan_sha256: digest of the whole plan.
            criteria: what was asked for.
            totals: ``subjects``, ``files`` and ``bytes`` that the plan lists.

        Raises:
            NotWritable: it cannot be written; nothing is deleted.
        """
        shown = str(self.root.path / RECEIPTS_DIRECTORY)
        self._receipt = new_receipt(self._directory, plan_sha256, shown, self._step)
        self._receipt.append(
            "plan", actor=actor(), state_root=str(self.root.path), criteria=dict(criteria), totals=dict(totals)
        )

    def record(self, outcome: PruneOutcome) -> None:
        """Write what became of a subject."""
        self.receipt.append("outcome", **outcome.to_record())
        self.outcomes.append(outcome)

    def end(self) -> None:
        """Complete the receipt, unless something of the plan is left over."""
        deleted = [outcome for outcome in self.outcomes if outcome.outcome == "deleted"]
        is_complete = all(outcome.outcome != "left" for outcome in self.outcomes)
        if is_complete:
            totals = {
                "subjects": len(deleted),
                "files": sum(outcome.files for outcome in deleted),
                "bytes": sum(outcome.size_bytes for outcome in deleted),
            }
            self.receipt.append("end", totals=totals)
        self.receipt.close(complete=is_complete)

    def abandon(self) -> None:
        """Close the receipt as it is; the next prune goes on from there."""
        if self._receipt is not None:
            self._receipt.close(complete=False)


@contextmanager
def prune_session(
    state_root: Path, *, recover_trace: TraceRecovery | None = None, step: Step = _no_step
) -> Iterator[PruneSession]:
    """Hold the receipts of a state root, and finish interrupted prunes before anything else.

    Args:
        state_root: the root; it is made where it is missing.
        recover_trace: finishes the deletion of a trace session; without it those of interrupted prunes wait.
        step: called with a word before and after each change on the disk; a seam for the tests that stop there.

    Raises:
        UnsafePath: the root or a directory of it is not ours alone.
        PruneBusy: another prune is at work.
        NotWritable: the receipts cannot be written.
        DamagedReceipt: the receipt of an interrupted prune is damaged.
    """
    with open_state_root(state_root, create=True) as root:
        if root is None:
            raise InvalidQuestion(f"{state_root} is gone")
        with receipts_directory(root, create=True) as directory:
            if directory is None:
                raise InvalidQuestion(f"{root.path / RECEIPTS_DIRECTORY} is gone")
            recovered: list[PruneOutcome] = []
            for name in unfinished(directory):
                recovered.extend(finish_receipt(root, directory, name, recover_trace, step))
            session = PruneSession(root, tuple(recovered), [], directory, step)
            try:
                yield session
            finally:
                session.abandon()


def finish_interrupted(
    state_root: Path, *, recover_trace: TraceRecovery | None = None, step: Step = _no_step
) -> tuple[PruneOutcome, ...]:
    """Finish interrupted prunes and do no more; raises what :func:`prune_session` does."""
    if not unfinished_receipts(state_root):
        return ()
    with prune_session(state_root, recover_trace=recover_trace, step=step) as session:
        return session.recovered


def prune_runs(
    session: PruneSession, plan: RunPlan, *, now: float | None = None, step: Step = _no_step
) -> list[PruneOutcome]:
    """Delete the runs of a plan, each after it was judged again.

    A run that is not what the plan says is kept. A call that is killed leaves each run whole, or staged and announced;
    the next prune finishes it.

    Args:
        session: that has begun.
        plan: from :func:`plan_runs`.
        now: seconds of the epoch; the present by default.
        step: as for :func:`prune_session`.

    Raises:
        NotWritable: the receipt takes no more records; nothing is deleted without its record.
    """
    moment = time.time() if now is None else now
    done: list[PruneOutcome] = []
    with Judge(session.root) as judge:
        for planned in plan.runs:
            outcome = _Deletion(session, judge, planned, plan.criteria, step).run(moment)
            done.append(outcome)
    return done


class _Deletion:
    """The deletion of one run."""

    def __init__(
        self, session: PruneSession, judge: Judge, planned: RunFacts, criteria: PruneCriteria, step: Step
    ) -> None:
        self._session = session
        self._judge = judge
        self._planned = planned
        self._criteria = criteria
        self._step = step
        self._staged = f"{STAGED_PREFIX}{session.receipt.plan_sha256[:12]}-{planned.session_id}"

    def run(self, now: float) -> PruneOutcome:
        planned = self._planned
        candidate = Candidate(planned.session_id, planned.storage_class, self._has_twin())
        try:
            with self._judge.locked(candidate) as directory:
                facts, inventory = self._judge.judge(candidate, directory)
                self._compare(facts, now)
                files = self._list(directory, inventory)
                self._announce(facts, files)
                outcome = self._delete(directory, facts, files)
        except Keep as keep:
            outcome = PruneOutcome("run", planned.path, "kept", f"{keep.reason}: {keep.detail}")
        self._session.record(outcome)
        return outcome

    def _has_twin(self) -> bool:
        found = 0
        for descriptor in self._judge.storage.values():
            if descriptor is not None:
                try:
                    os.stat(self._planned.session_id, dir_fd=descriptor, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                found += 1
        return found > 1

    def _compare(self, facts: RunFacts, now: float) -> None:
        planned = self._planned
        if facts != planned:
            raise Keep("changed", "it is not what the plan lists any more")
        refuse(facts, self._criteria, now)

    def _list(self, directory: int, inventory: Inventory) -> list[dict[str, object]]:
        try:
            refuse_read_only(directory, inventory)
        except EvidenceError as error:
            raise Keep("failed", error.detail) from error
        try:
            return listing(directory, inventory)
        except EvidenceError as error:
            raise Keep("changed", error.detail) from error
        except OSError as error:
            raise Keep("changed", f"a file vanished: {error.strerror}") from error

    def _announce(self, facts: RunFacts, files: Sequence[Mapping[str, object]]) -> None:
        folder = STORAGE_DIRECTORIES[facts.storage_class]
        self._session.receipt.announce(
            "run",
            facts.path,
            files,
            staged_path=f"{folder}/{self._staged}",
            device=facts.device,
            inode=facts.inode,
            size_bytes=facts.size_bytes,
            final_receipt_sha256=facts.final_receipt_sha256,
        )

    def _delete(self, directory: int, facts: RunFacts, files: Sequence[Mapping[str, object]]) -> PruneOutcome:
        storage = self._judge.storage[facts.storage_class]
        if storage is None:
            raise Keep("changed", "its storage is gone")
        try:
            self._stage(storage, facts)
            if not self._is_still(directory, facts):
                return self._bring_back(storage, "changed: it changed while it was staged")
            removal = remove_staged(storage, self._staged, files, self._step)
        except OSError as error:
            return PruneOutcome("run", facts.path, "left", f"it cannot be deleted: {error.strerror}")
        word = "left" if removal.left else "deleted"
        reason = "something in it is not deleted" if removal.left else ""
        return PruneOutcome("run", facts.path, word, reason, removal.deleted_files, removal.deleted_bytes, removal.left)

    def _stage(self, storage: int, facts: RunFacts) -> None:
        status = os.stat(facts.session_id, dir_fd=storage, follow_symlinks=False)
        if (status.st_dev, status.st_ino) != (facts.device, facts.inode):
            raise Keep("changed", "another directory stands in its place now")
        self._step("stage")
        try:
            os.rename(facts.session_id, self._staged, src_dir_fd=storage, dst_dir_fd=storage)
        except OSError as error:
            raise Keep("failed", f"it cannot be staged: {error.strerror}") from error
        os.fsync(storage)
        self._step("staged")

    def _is_still(self, directory: int, facts: RunFacts) -> bool:
        """Look once more, at a name that nobody else knows: a writer may have come in before the rename."""
        try:
            return take_inventory(directory).fingerprint == facts.fingerprint
        except (OSError, EvidenceError):
            return False

    def _bring_back(self, storage: int, reason: str) -> PruneOutcome:
        os.rename(self._staged, self._planned.session_id, src_dir_fd=storage, dst_dir_fd=storage)
        os.fsync(storage)
        return PruneOutcome("run", self._planned.path, "kept", reason)
