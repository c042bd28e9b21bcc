"""One fault's whole story: a healthy index, the damage, the sync, the rebuild, the repair, the sync after it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from agent_workflow import index_store

from .evidence_files import EvidenceRoot, RunDirectory
from .fault import Fault
from .index_reading import Dump, Row, dump, dump_of_others, everything_said_about, row_of, rows_of


@dataclass(frozen=True)
class Story:
    """What the index held at each point of it.

    Attributes:
        others_before: the other runs' rows while all was well.
        others_damaged: the other runs' rows after the sync that met the damage.
        others_repaired: the other runs' rows after the sync that met the repair.
        run: the damaged run's row.
        categories: words of its errors.
        said: its errors and notices, as one text.
        reported: what the sync's own report says, as one text.
        synced: every row after the sync that met the damage.
        rebuilt: every row of a rebuild over the same damage; None where that was not asked for.
        errors_after: errors and quarantined runs that the sync after the repair reports.
        errors_at_first: the same, before the damage.
        resynced: every row after the repair.
        rerebuilt: every row of a rebuild after the repair; None where that was not asked for.
    """

    others_before: Dump
    others_damaged: Dump
    others_repaired: Dump
    run: Row
    categories: list[object]
    said: str
    reported: str
    synced: Dump
    rebuilt: Dump | None
    errors_at_first: tuple[object, ...]
    errors_after: tuple[object, ...]
    resynced: Dump
    rerebuilt: Dump | None


def tell(root: EvidenceRoot, run: RunDirectory, fault: Fault, aside: Path, *, rebuild: bool = True) -> Story:
    """Let a fault happen to one run of an indexed state root, and undo it.

    Args:
        root: the state root, indexed, all of it as it should be.
        run: the run to damage; in the end it is whole again.
        fault: what happens to it.
        aside: an empty directory on the same disk, outside of the state root.
        rebuild: compare each sync with a rebuild as well.
    """
    at_first = index_store.sync(root.path)
    before = dump_of_others(root.database, run.session_id)
    healthy = aside / run.session_id
    shutil.copytree(run.path, healthy, symlinks=True)
    try:
        fault.inflict(run)
        report = index_store.sync(root.path)
        others, synced = dump_of_others(root.database, run.session_id), dump(root.database)
        row = row_of(root.database, "runs", "session_id = ?", run.session_id)
        errors = rows_of(root.database, "index_errors", "session_id = ?", run.session_id)
        said = everything_said_about(root.database, run.session_id)
        rebuilt = _rebuilt(root) if rebuild else None
    finally:
        _put_back(run, healthy)
    after = index_store.sync(root.path)
    return Story(
        others_before=before,
        others_damaged=others,
        others_repaired=dump_of_others(root.database, run.session_id),
        run=row,
        categories=[error["category"] for error in errors],
        said=said,
        reported=str(report.to_document()),
        synced=synced,
        rebuilt=rebuilt,
        errors_at_first=(*at_first.errors, *at_first.quarantined),
        errors_after=(*after.errors, *after.quarantined),
        resynced=dump(root.database),
        rerebuilt=_rebuilt(root) if rebuild else None,
    )


def _rebuilt(root: EvidenceRoot) -> Dump:
    index_store.rebuild(root.path)
    return dump(root.database)


def _put_back(run: RunDirectory, healthy: Path) -> None:
    if run.path.is_symlink() or run.path.is_file():
        run.path.unlink()
    elif run.path.exists():
        shutil.rmtree(run.path)
    healthy.rename(run.path)
