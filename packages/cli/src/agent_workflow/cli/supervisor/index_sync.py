"""The index after a cycle: brought in line when there is something new, and never a reason to stop."""

import os
from pathlib import Path

from agent_workflow.cli.supervisor.documents import Document

_UNCHANGED_SECONDS = 300.0
_LOCK_SECONDS = 2.0
_TROUBLE = 8


class IndexSync:
    """Decides when the index is due, and syncs it.

    Attributes:
        is_wanted: False for ``--no-sync-index``; then the index is not even looked at.
    """

    def __init__(self, root: Path, *, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self._root = root
        self._done_at: float | None = None
        self._listing: tuple[int | None, ...] = ()

    def after_cycle(self, now: float, *, wrote: bool) -> Document:
        """Sync where runs changed, came or went, and from time to time for what others changed.

        Args:
            now: monotonic seconds.
            wrote: this cycle appended to a run.

        Returns:
            The part of the report; an error is told in it and never raised.
        """
        if not self.is_wanted:
            return {"state": "off"}
        listing = tuple(_changed(self._root / name) for name in ("runs", "archive", "evidence-repairs"))
        is_old = self._done_at is None or now - self._done_at >= _UNCHANGED_SECONDS
        if not wrote and not is_old and listing == self._listing:
            return {"state": "not_due"}
        report = _sync(self._root)
        if report["state"] == "done":
            self._done_at, self._listing = now, listing
        return report


def _changed(path: Path) -> int | None:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return None


def _sync(root: Path) -> Document:
    from agent_workflow import index_store
    from agent_workflow.cli._failure import failure_of_store

    try:
        report = index_store.sync(root, lock_timeout_seconds=_LOCK_SECONDS)
    except index_store.IndexStoreError as error:
        return {"state": "error", **failure_of_store(error).to_document()}
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a projection, runs are supervised
        kind = type(error).__name__
        message = f"the index cannot be synced: {kind}"
        hint = "agent-workflow index verify"
        return {"state": "error", "error": {"code": "index_error", "message": message, "path": str(root), "hint": hint}}
    return {
        "state": "done",
        "indexed_count": len(report.indexed),
        "skipped_count": len(report.skipped),
        "pruned_count": len(report.pruned),
        "error_count": len(report.errors),
        "errors": [{"session_id": item.session_id, "error": item.error} for item in report.errors[:_TROUBLE]],
    }
