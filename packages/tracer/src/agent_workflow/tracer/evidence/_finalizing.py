"""Closing the published run of a workflow whose process is gone: once, by whoever notices first."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agent_workflow.tracer._closing import close_lost_session
from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._identity import RecordedProcess, judge
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._replay import SessionState, replay_state, session_lock
from agent_workflow.tracer._shown import RUNNING
from agent_workflow.tracer.evidence._completing import FINAL_STATUS, complete_locked
from agent_workflow.tracer.evidence._errors import NotTraced, RunIsAlive, RunIsBusy
from agent_workflow.tracer.evidence._facts import Facts, gather
from agent_workflow.tracer.evidence._launch import is_run_of, read_launch
from agent_workflow.tracer.evidence._lock import LOCK_SECONDS, run_lock
from agent_workflow.tracer.evidence._publications import Publication, forget, publications
from agent_workflow.tracer.evidence._sealing import seal_run_locked
from agent_workflow.tracer.evidence._writing import is_sealed


def finalize_lost(
    directory: Path,
    *,
    reason: str,
    actor: str,
    warn: Callable[[str], None],
    before_seal: Callable[[], None] | None = None,
) -> bool:
    """Complete and seal the run of a traced session whose process is gone.

    First the trace is closed, where its files are still there, then the run is completed from them (from its launch
    contract alone where they are not) and sealed. A session that ended by itself, and whose run only was not completed
    or not sealed, keeps the end that it had. Doing it again changes nothing.

    Args:
        directory: of the run, below ``runs/``.
        reason: how it is known that the process is gone; a sentence that becomes the run's ``terminal_error``.
        actor: who says so.
        warn: told in a sentence when the trace cannot be closed; the run is completed nevertheless.
        before_seal: called under the run's lock when everything else is written; may append with the functions whose
            names end in ``_locked``. If it raises, the run stays unsealed.

    Returns:
        ``False`` when the run was sealed already.

    Raises:
        NotTraced: the directory holds no launch contract of a traced run.
        RunIsAlive: a process of the run is alive, be it an agent.
        RunIsBusy: somebody else keeps the run or its session locked.
        EvidenceError: the run cannot be written.
    """
    launch = read_launch(directory)
    if is_sealed(directory):
        return False
    _refuse_if_alive(launch, SessionState())
    publication = _publication(directory, launch)
    files = SessionFiles(Path(launch["trace"]["session_directory"])) if publication else None
    if files is not None:
        _close_trace(files, launch, reason, warn)
    with _session(files), run_lock(directory):
        if is_sealed(directory):
            return False
        _refuse_if_alive(launch, replay_state(files) if files else SessionState())
        if not (directory / FINAL_STATUS).exists():
            facts = _facts(files, publication, warn)
            program = publication.program if publication else str(launch["workflow"]["name"])
            complete_locked(directory, launch, facts, program=program, actor=actor, reason=reason)
        if before_seal is not None:
            before_seal()
        seal_run_locked(directory)
        if files is not None:
            forget(files)  # while nobody can begin another run of the session
    return True


def settle(files: SessionFiles, *, reason: str, actor: str, warn: Callable[[str], None]) -> bool:
    """Finalize the newest run of a session, if it was left behind.

    Args:
        files: the session.
        reason: as for ``finalize_lost``.
        actor: as for ``finalize_lost``.
        warn: told what cannot be done.

    Returns:
        Whether a run was sealed here.
    """
    try:
        runs = publications(files)
        if not runs or _is_settled(runs[-1].directory, files):
            _forget_if_settled(files)  # if it is not after all, its workflow is just beginning
            return False
        return finalize_lost(runs[-1].directory, reason=reason, actor=actor, warn=warn)
    except (RunIsAlive, RunIsBusy):  # who keeps it locked is at work on it
        return False
    except (TracerError, OSError) as error:
        warn(f"the run of session {files.adw_id} cannot be sealed: {error}")
        return False


def _is_settled(directory: Path, files: SessionFiles) -> bool:
    """Tell whether nothing is left to do: sealed, moved away, never filled, or another session's."""
    if is_sealed(directory) or not directory.exists():
        return True
    try:
        return not is_run_of(read_launch(directory), files)
    except NotTraced:
        return True


def _forget_if_settled(files: SessionFiles) -> None:
    """Look again under the session's lock: what seems never to have been filled may be claimed at this moment."""
    if not files.directory.is_dir():
        forget(files)
        return
    with _session(files):
        runs = publications(files)
        if runs and not _is_settled(runs[-1].directory, files):
            return
        if runs:
            with contextlib.suppress(OSError):
                runs[-1].directory.rmdir()  # empty: its workflow was killed at that moment
        forget(files)


def _publication(directory: Path, launch: dict[str, Any]) -> Publication | None:
    """Find the run in its session's own list: at that place may be another repository's session by now."""
    files = SessionFiles(Path(launch["trace"]["session_directory"]))
    try:
        with files.state.open("rb"):
            pass
    except OSError:
        return None
    for item in publications(files):
        if item.session_id == directory.name and item.directory.resolve() == directory.resolve():
            return item
    return None


def _close_trace(files: SessionFiles, launch: dict[str, Any], reason: str, warn: Callable[[str], None]) -> None:
    with _session(files):
        state = replay_state(files)
        _refuse_if_alive(launch, state)
    if state.session().get("status") != RUNNING and all(row.get("ended_at") for row in state.of("processes")):
        return
    data_dir = files.directory.parent.parent
    try:
        close_lost_session(Path(launch["trace"]["database"]), data_dir, files.adw_id, {}, warn, reason=reason)
    except (TracerError, OSError) as error:
        warn(f"session {files.adw_id} cannot be closed: {error}")


@contextlib.contextmanager
def _session(files: SessionFiles | None) -> Iterator[None]:
    if files is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(session_lock(files, LOCK_SECONDS))
        except TimeoutError as error:
            raise RunIsBusy(str(error), path=files.lock) from None
        except OSError:
            pass  # a repository that cannot be written keeps no lock, and nobody begins a workflow in it
        yield


def _refuse_if_alive(launch: dict[str, Any], state: SessionState) -> None:
    pid, marker = launch["runner"]["pid"], launch["runner"]["start_marker"]
    living = find(pid)
    if living is not None and not living.is_zombie and marker in (None, living.start_marker):
        raise RunIsAlive(f"its process {pid} is alive")
    for row in state.of("processes"):
        recorded = RecordedProcess.from_row(row)
        if recorded.ended_at is None and judge(recorded, find(recorded.pid or 0)) == "alive":
            raise RunIsAlive(f"its process {recorded.pid} is alive")


def _facts(files: SessionFiles | None, publication: Publication | None, warn: Callable[[str], None]) -> Facts | None:
    if files is None or publication is None:
        return None
    try:
        return gather(files, publication)
    except OSError as error:
        warn(f"session {files.adw_id} cannot be read: {error}; its run is completed without it")
        return None
