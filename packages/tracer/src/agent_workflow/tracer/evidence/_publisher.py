"""Publishing one run while it goes on. It never fails the run, and never holds it up by more than a small write."""

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._config import Config
from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._replay import session_lock
from agent_workflow.tracer._tracer import Tracer, say
from agent_workflow.tracer.evidence._claiming import claim, fill_running, free_names, remove_left_behind
from agent_workflow.tracer.evidence._errors import EvidenceError, RunIsBusy
from agent_workflow.tracer.evidence._launch import is_published, launch_contract, read_launch, running_status
from agent_workflow.tracer.evidence._lifecycle import phase_move
from agent_workflow.tracer.evidence._lock import run_lock
from agent_workflow.tracer.evidence._publications import Publication, forget, publications, remember
from agent_workflow.tracer.evidence._repository import Checkout, look_at
from agent_workflow.tracer.evidence._state_root import runs_directory, state_root
from agent_workflow.tracer.evidence._writing import append_lifecycle_locked, is_sealed, write_document_locked

_PATIENCE_SECONDS: Final = 0.2
_ACTOR: Final = "tracer"


class Publisher:
    """Writes the run directory of a session in which this process is at work.

    Attributes:
        directory: of the run, ``None`` while nothing is published.
    """

    def __init__(self, config: Config, tracer: Tracer) -> None:
        """Publish nothing yet.

        Args:
            config: says whether and where.
            tracer: of the session.
        """
        self.directory: Path | None = None
        self._config = config
        self._tracer = tracer
        self._publication: Publication | None = None
        self._launch: dict[str, Any] = {}
        self._waiting: list[dict[str, Any]] = []
        self._workflow = self._program = ""

    def begin(self, events_from: int, state_from: int, *, workflow: str, program: str) -> None:
        """Claim a run directory, or join the one of the session that is not sealed.

        Args:
            events_from: bytes of the session's events that are older.
            state_from: bytes of its state that are older.
            workflow: the name that the trace shows.
            program: file name of what is run.
        """
        self._workflow, self._program = workflow, program
        if not self._config.publish:
            return
        with self._guarded():
            checkout = look_at(self._config.root)
            runs = runs_directory(state_root(self._config.state_root), create=True)
            with self._tracer.shield, session_lock(self._tracer.files):
                self._begin(runs, checkout, events_from, state_from)

    def phase_began(self, phase_id: str, name: str) -> None:
        """Tell that a phase runs."""
        self._move(phase_move(*self._redacted(phase_id, name), "running"))

    def phase_ended(self, phase_id: str, name: str, status: str, category: str | None) -> None:
        """Tell how a phase ended.

        Args:
            phase_id: of the phase.
            name: of the phase.
            status: ``success`` or ``fail``.
            category: why it failed.
        """
        self._move(phase_move(*self._redacted(phase_id, name), status, category))

    def note_request(self, request: str) -> None:
        """Tell which request is worked on, by its digest."""
        if self.directory is None:
            return
        from agent_workflow.tracer.evidence._facts import digest_of

        with self._guarded(), contextlib.suppress(RunIsBusy), self._tracer.shield:
            status = running_status(self._launch, _clock.now(), digest_of(self._tracer.redactor.text(request)))
            with run_lock(self.directory, seconds=_PATIENCE_SECONDS):
                write_document_locked(self.directory, "status.json", status)

    def end(self) -> None:
        """Complete and seal the run of a session that is closed; the caller holds the session's lock."""
        if self.directory is None or self._publication is None:
            return
        from agent_workflow.tracer.evidence._completing import complete_locked
        from agent_workflow.tracer.evidence._facts import gather
        from agent_workflow.tracer.evidence._sealing import seal_run_locked

        with self._guarded(), self._tracer.shield:
            facts = gather(self._tracer.files, self._publication)
            with run_lock(self.directory):
                self._append_waiting(self.directory)
                program = self._publication.program
                complete_locked(self.directory, self._launch, facts, program=program, actor=_ACTOR)
                seal_run_locked(self.directory)
            forget(self._tracer.files)
            self.directory = None

    def leave(self) -> None:
        """Tell what still waits to be told; others are at work in the session, the last of them ends the run."""
        if self.directory is None or not self._waiting:
            return
        with self._guarded(), self._tracer.shield, run_lock(self.directory):
            self._append_waiting(self.directory)

    def _begin(self, runs: Path, checkout: Checkout, events_from: int, state_from: int) -> None:
        files = self._tracer.files
        known = [item for item in publications(files) if is_published(item, files)]
        if known and known[-1].directory.exists() and not is_sealed(known[-1].directory):
            self._publication, self.directory = known[-1], known[-1].directory
            self._launch = read_launch(self.directory)
            with run_lock(self.directory):
                # Of an end that was told and not sealed: the run goes on.
                (self.directory / "final-status.json").unlink(missing_ok=True)
            self._move(_JOINED)
            return
        remove_left_behind(runs)
        retry_of = known[-1].session_id if known else None
        for name in free_names(runs, files):
            program = self._tracer.redactor.text(self._program)
            publication = Publication(str(runs.parent), name, program, _clock.now(), events_from, state_from, retry_of)
            self._launch = self._contract(publication, checkout)
            remember(files, [*known, publication])
            status = running_status(self._launch, publication.began_at)
            if claim(publication.directory, partial(fill_running, self._launch, status)):
                self._publication, self.directory = publication, publication.directory
                return

    def _contract(self, publication: Publication, checkout: Checkout) -> dict[str, Any]:
        tracer, config = self._tracer, self._config
        process = find(os.getpid())
        database, session_directory = str(tracer.db.absolute()), str(tracer.files.directory.absolute())
        if not _is_text(f"{config.root}{database}{session_directory}"):
            raise EvidenceError("the name of a folder is no UTF-8, and a record of evidence could not hold it")
        trace = {"adw_id": tracer.adw_id, "database": database, "session_directory": session_directory}
        return launch_contract(
            publication,
            workflow=self._workflow,
            agents=config.agents,
            root=str(config.root),
            checkout=checkout,
            runner={"pid": os.getpid(), "start_marker": process.start_marker if process else None},
            trace=trace,
            redactor=tracer.redactor,
        )

    def _redacted(self, phase_id: str, name: str) -> tuple[str, str]:
        return self._tracer.redactor.text(phase_id), self._tracer.redactor.text(name)

    def _move(self, move: dict[str, Any]) -> None:
        if self.directory is None:
            return
        with self._guarded(), self._tracer.shield:
            self._waiting.append({**move, "actor": _ACTOR, "at": _clock.now()})
            # Who holds the run longer than that gets out of the way later: the record waits, not the workflow.
            with contextlib.suppress(RunIsBusy), run_lock(self.directory, seconds=_PATIENCE_SECONDS):
                self._append_waiting(self.directory)

    def _append_waiting(self, directory: Path) -> None:
        while self._waiting:
            append_lifecycle_locked(directory, **self._waiting[0])
            self._waiting.pop(0)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let nothing that goes wrong here reach the run: it is told once, and the rest goes on unpublished."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a fault of the evidence must never be the run's
            self.directory = None
            told = f"{type(error).__name__}: {error}"
            say(f"session {self._tracer.adw_id} is not published any further: {told}")
            with contextlib.suppress(TracerError):
                self._tracer.event("log", "evidence", {"published": False, "error": told})


def _is_text(path: str) -> bool:
    """Tell whether a path can be written as JSON that everybody reads: its bytes may be of any encoding, or of none."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


_JOINED: Final = {
    "dimension": "execution",
    "prior": "running",
    "new": "running",
    "reason": "another process joined the session",
}
