"""Moving ended, sealed runs from ``runs/`` to ``archive/``: the manifest first, then one rename."""

import errno
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent_workflow.evidence_schemas import RunArchive
from agent_workflow.index_store.discovery import ID_PATTERN, Candidate
from agent_workflow.index_store.errors import EvidenceError
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.retention.judging import Judge, Keep, KeptRun, RunFacts
from agent_workflow.index_store.retention.writing import write_new_document
from agent_workflow.index_store.sealing import read_document
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StateRoot, not_writable, open_state_root

MANIFEST = "archive-manifest.json"
DEFAULT_REASON = "retention"
_ARCHIVE = STORAGE_DIRECTORIES["archive"]


@dataclass(frozen=True)
class ArchivedRun:
    """A run that was moved, or that would be."""

    session_id: str
    source: str
    """Absolute path of the directory in ``runs/``."""
    target: str
    """Absolute path in ``archive/``."""
    ended_at: float
    final_receipt_sha256: str
    size_bytes: int


@dataclass(frozen=True)
class ArchiveReport:
    """What was moved and what was left where it is.

    Attributes:
        state_root: absolute path.
        moved: runs in ``archive/`` now; with ``dry_run`` those that would be.
        kept: active runs that stay, with the reason.
        dry_run: nothing was changed.
    """

    state_root: str
    moved: tuple[ArchivedRun, ...]
    kept: tuple[KeptRun, ...]
    dry_run: bool


def archive_runs(
    state_root: Path,
    *,
    session_ids: Sequence[str] = (),
    older_than_seconds: float | None = None,
    reason: str = DEFAULT_REASON,
    dry_run: bool = False,
    now: float | None = None,
    step: Callable[[str], None] = lambda _name: None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ArchiveReport:
    """Move runs that have ended, are sealed and verify into the archive of the same file system.

    A call that is killed leaves every run in ``runs/`` or in ``archive/``, whole; the next one goes on.

    Args:
        state_root: the root.
        session_ids: only these; all when empty.
        older_than_seconds: only what was sealed at least so long ago.
        reason: for the manifest.
        dry_run: change nothing.
        now: seconds of the epoch; the present by default.
        step: called with a word before each change on the disk; a seam for the tests that stop there.
        progress: called after every run that was looked at.

    Raises:
        UnsafePath: the state root, ``runs/`` or ``archive/`` is not ours alone.
        NotWritable: ``archive/`` cannot be made.
    """
    with open_state_root(state_root) as root:
        if root is None:
            unknown = tuple(KeptRun(name, "", "unknown", "there is no such run") for name in session_ids)
            return ArchiveReport(str(state_root), (), unknown, dry_run)
        if not dry_run:
            _make_archive(root)
        with Judge(root) as judge:
            work = _Archiving(root, judge, reason, dry_run, step)
            oldest = None if older_than_seconds is None else (time.time() if now is None else now) - older_than_seconds
            work.run(tuple(dict.fromkeys(session_ids)), oldest, progress)
    return ArchiveReport(str(root.path), tuple(work.moved), tuple(work.kept), dry_run)


def _make_archive(root: StateRoot) -> None:
    try:
        os.mkdir(_ARCHIVE, 0o700, dir_fd=root.descriptor)  # the umask can only take more away
    except FileExistsError:
        return
    except OSError as error:
        raise not_writable(root.path / _ARCHIVE, error) from error


class _Archiving:
    """One call's work."""

    def __init__(self, root: StateRoot, judge: Judge, reason: str, dry_run: bool, step: Callable[[str], None]) -> None:
        self._root = root
        self._judge = judge
        self._reason = reason
        self._dry_run = dry_run
        self._step = step
        self._reader = RecordReader()
        self.moved: list[ArchivedRun] = []
        self.kept: list[KeptRun] = []

    def run(self, named: tuple[str, ...], sealed_before: float | None, progress: Callable[[int, int], None]) -> None:
        candidates = self._candidates(named)
        for done, candidate in enumerate(candidates, 1):
            try:
                self.moved.append(self._archive(candidate, sealed_before))
            except Keep as keep:
                path = f"{STORAGE_DIRECTORIES['active']}/{candidate.session_id}"
                self.kept.append(KeptRun(candidate.session_id, path, keep.reason, keep.detail))
            progress(done, len(candidates))

    def _candidates(self, named: tuple[str, ...]) -> list[Candidate]:
        active = {run.session_id: run for run in self._judge.runs().runs if run.storage_class == "active"}
        archived = {run.session_id for run in self._judge.runs().runs if run.storage_class == "archive"}
        for name in named:
            if name not in active:
                word, detail = ("exists", "it is archived already") if name in archived else _UNKNOWN
                self.kept.append(KeptRun(name if ID_PATTERN.fullmatch(name) else ascii(name), "", word, detail))
        return [run for name, run in active.items() if not named or name in named]

    def _archive(self, candidate: Candidate, sealed_before: float | None) -> ArchivedRun:
        with self._judge.locked(candidate) as directory:
            facts, _ = self._judge.judge(candidate, directory)
            if facts.final_receipt_sha256 is None:
                raise Keep("unsealed", "it has ended and is not sealed")
            if sealed_before is not None and facts.ended_at > sealed_before:
                raise Keep("recent", "it was sealed more recently")
            source = self._root.path / facts.path
            target = self._root.path / _ARCHIVE / facts.session_id
            receipt = facts.final_receipt_sha256
            archived = ArchivedRun(
                facts.session_id, str(source), str(target), facts.ended_at, receipt, facts.size_bytes
            )
            if not self._dry_run:
                try:
                    self._move(archived, facts, directory)
                except OSError as error:
                    raise Keep("failed", _in_words(error)) from error
        return archived

    def _move(self, run: ArchivedRun, facts: RunFacts, directory: int) -> None:
        runs, archive = self._judge.storage["active"], self._judge.storage["archive"]
        if runs is None or archive is None:
            raise Keep("failed", "runs/ or archive/ is gone")
        if os.fstat(runs).st_dev != os.fstat(archive).st_dev:
            raise Keep("failed", _ELSEWHERE)  # before a manifest tells of a move that cannot be
        self._write_manifest(run, facts, directory)
        now = os.stat(run.session_id, dir_fd=runs, follow_symlinks=False)
        if (now.st_dev, now.st_ino) != (facts.device, facts.inode):
            raise Keep("changed", "another directory stands in its place now")
        self._step("rename")
        # Onto a directory that holds anything, a file or a link, this fails and changes nothing.
        os.rename(run.session_id, run.session_id, src_dir_fd=runs, dst_dir_fd=archive)
        self._step("renamed")
        for descriptor in (archive, runs):
            os.fsync(descriptor)

    def _write_manifest(self, run: ArchivedRun, facts: RunFacts, directory: int) -> None:
        """Write the manifest, or keep that of a call that was killed before its rename."""
        wanted = {
            "schema": "agent-workflow/run-archive/v1",
            "session_id": run.session_id,
            "source_run": run.source,
            "archived_run": run.target,
            "archived_at": datetime.now(UTC).isoformat(),
            "reason": self._reason,
            "final_receipt_sha256": run.final_receipt_sha256,
            "accepted_revision": facts.accepted_revision,
            "operation": "moved",
        }
        try:
            found = read_document(directory, MANIFEST, self._reader)
        except EvidenceError as error:
            raise Keep("error", error.detail) from error
        if found is None:
            self._step("manifest")
            write_new_document(directory, MANIFEST, wanted, 0o400)
        elif not isinstance(found, RunArchive) or not _same_move(found, wanted):
            raise Keep("exists", f"{MANIFEST} tells of another move, and is not overwritten")


_UNKNOWN = ("unknown", "there is no such run")
_ELSEWHERE = "archive/ is on another file system than runs/; a run is moved by one rename only"


def _same_move(found: RunArchive, wanted: dict[str, str | None]) -> bool:
    document = found.to_document()
    free = ("archived_at", "reason")
    return all(document.get(name) == value for name, value in wanted.items() if name not in free)


def _in_words(error: OSError) -> str:
    if error.errno == errno.EXDEV:
        return _ELSEWHERE
    if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
        return "something stands in its place in archive/, and is not overwritten"
    return f"it cannot be moved: {error.strerror or error}"


def moved_bytes(runs: Iterable[ArchivedRun]) -> int:
    """Sum up what was moved."""
    return sum(run.size_bytes for run in runs)
