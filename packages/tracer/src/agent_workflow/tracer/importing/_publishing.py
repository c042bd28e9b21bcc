"""Which imported sessions become runs of the state root, and when: once they are quiet."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._locate import config_naming
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer.evidence._claiming import remove_left_behind
from agent_workflow.tracer.evidence._errors import WasRecorded
from agent_workflow.tracer.evidence._imported import publish_imported
from agent_workflow.tracer.evidence._recorded import Recorded
from agent_workflow.tracer.evidence._state_root import runs_directory, state_root
from agent_workflow.tracer.importing._ledger import Ledger
from agent_workflow.tracer.importing._report import ImportReport
from agent_workflow.tracer.running._place import settle

QUIET_SECONDS: Final = 600.0
"""A session whose record has not grown for so long is taken to be over; a seal cannot be taken back."""


def publishing_root(db: Path) -> Path | None:
    """Return where the sessions of a trace database are published, ``None`` where its configuration says no.

    Args:
        db: the trace database; the configuration that names it counts, else that of the working directory.
    """
    config = config_naming(db) or settle(str(db), Path.cwd())[0]
    return state_root(config.state_root) if config.publish else None


def publish(
    ledger: Ledger,
    data_dir: Path,
    db: Path,
    root: Path,
    redactor: Redactor,
    report: ImportReport,
    progress: Callable[[int, int], None],
    quiet_seconds: float,
) -> None:
    """Publish every session that has changed since it was published, and is quiet. Nothing of this fails an import.

    Args:
        ledger: knows the sessions.
        data_dir: where they are.
        db: the trace database that has their rows.
        root: the state root.
        redactor: takes secrets out of names.
        report: is told what was published, what waits, and what cannot be published.
        progress: is told the number of the next session, and of how many.
        quiet_seconds: how long a session must have been quiet.
    """
    waiting = ledger.unpublished()
    if not waiting:
        return
    try:
        remove_left_behind(runs_directory(root, create=True))
    except (TracerError, OSError) as error:
        report.unpublished.append(f"{root}: {error}")
        return
    now = time.time()
    recorded = Recorded(root, min(began for _, began, _, _ in waiting))
    for number, (adw_id, _, last_record, changed_ns) in enumerate(waiting):
        progress(number, len(waiting))
        if not _is_quiet(last_record, changed_ns, now, quiet_seconds):
            report.fresh.append(adw_id)
            continue
        try:
            name = publish_imported(SessionFiles.of(data_dir, adw_id), db, root, redactor, recorded)
        except WasRecorded:
            name = None
            report.recorded.append(adw_id)
        except (TracerError, OSError) as error:
            report.unpublished.append(f"session {adw_id}: {error}")
            continue
        ledger.published(adw_id)
        if name is not None:
            report.published.append(name)


def _is_quiet(last_record: str, changed_ns: int, now: float, quiet_seconds: float) -> bool:
    """Judge by whichever is older: a copied file has a new time and old records, a wrong clock records of tomorrow."""
    told = _clock.parse_time(last_record)
    moments = [changed_ns / 1e9] if told is None else [changed_ns / 1e9, told.timestamp()]
    return now - min(moments) >= quiet_seconds
