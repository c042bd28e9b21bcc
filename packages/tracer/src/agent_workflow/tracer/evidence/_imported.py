"""Publishing a session that was imported: its whole run at once, sealed before anybody sees it.

Nothing of it was seen happening. So no process is named, no exit code is told, nothing is acceptable by itself, and an
end that the agent's own record does not tell is ``lost``. What is sealed stays; a session that has grown since is
published as another run, which tells all of it again and names the one whose place it takes.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer._replay import session_lock
from agent_workflow.tracer._spend import events_with
from agent_workflow.tracer._version import VERSION
from agent_workflow.tracer.evidence._claiming import claim, free_names
from agent_workflow.tracer.evidence._documents import final_status, provenance
from agent_workflow.tracer.evidence._errors import WasRecorded
from agent_workflow.tracer.evidence._facts import Facts, gather
from agent_workflow.tracer.evidence._launch import is_published, listed_agent, listed_session, running_status
from agent_workflow.tracer.evidence._lifecycle import phase_move
from agent_workflow.tracer.evidence._metrics import metrics_document
from agent_workflow.tracer.evidence._outcome import Outcome, conclude_imported
from agent_workflow.tracer.evidence._publications import Publication, publications, write_list
from agent_workflow.tracer.evidence._recorded import Recorded
from agent_workflow.tracer.evidence._sealing import seal_run_locked
from agent_workflow.tracer.evidence._state_root import runs_directory
from agent_workflow.tracer.evidence._writing import append_lifecycle_locked, write_document_locked

_ACTOR: Final = "trace import"
_SCHEMA: Final = "agent-workflow/traced-launch-contract/v2"
_ESTIMATES: Final = ("local_estimated_cost", "price_catalog_id")
Document = dict[str, Any]


def publish_imported(files: SessionFiles, db: Path, root: Path, redactor: Redactor, recorded: Recorded) -> str | None:
    """Publish an imported session, unless a run of it says the same already.

    Turns that were recorded while they went on are evidence already: the run tells the others.

    Args:
        files: the session.
        db: the trace database that has its rows.
        root: the state root.
        redactor: takes secrets out of names.
        recorded: knows what was recorded in the state root.

    Returns:
        The name of the new run, ``None`` where nothing but a price list has changed since the newest.

    Raises:
        WasRecorded: all of it was.
        EvidenceError: it cannot be written; no part of it is there.
        OSError: the session's files cannot be read or written.
    """
    runs = runs_directory(root, create=True)
    with session_lock(files):
        everything = publications(files)
        _remove_claims(everything)
        known = [item for item in everything if is_published(item, files)]
        first = Publication(str(runs.parent), files.adw_id, "", _clock.now())
        told = _told(files, db, redactor, first, recorded)
        content = told.digest()
        if known and known[-1].content == content:
            return None
        retry_of = known[-1].session_id if known else None
        for name in free_names(runs, files):
            new = replace(
                first, session_id=name, program=told.agent, began_at=told.began, retry_of=retry_of, content=content
            )
            write_list(files, [*known, new])  # before the run: a list without it would let it be published again
            if claim(new.directory, partial(told.fill, new)):
                return name
    raise AssertionError("there is always another name")  # pragma: no cover - free_names does not end


def _remove_claims(runs: list[Publication]) -> None:
    """Remove the empty directory of an import that was killed between claiming a name and filling it."""
    for item in runs[-1:]:
        with contextlib.suppress(OSError):  # there is none, or it is filled
            item.directory.rmdir()


def _told(files: SessionFiles, db: Path, redactor: Redactor, publication: Publication, recorded: Recorded) -> "_Told":
    about, facts = _about(files), gather(files, publication)
    outcome = conclude_imported(facts)  # the last turn says how it ended, whoever tells of that
    left = recorded.without_recorded(facts, (str(about.get("coding_agent")), str(about.get("session_id"))))
    if facts.calls and not left.calls:
        raise WasRecorded(f"session {files.adw_id} was recorded while it went on", path=files.directory)
    return _Told(left, outcome, about, files, db, redactor)


def _about(files: SessionFiles) -> Mapping[str, Any]:
    """Return what the first turn says of its surroundings."""
    for record in events_with(files, b'"type": "agent_start"'):
        if record.get("type") == "agent_start" and isinstance(record.get("payload"), dict):
            payload: Mapping[str, Any] = record["payload"]
            return payload
    return {}


class _Told:
    """What the evidence of one session says."""

    def __init__(
        self,
        facts: Facts,
        outcome: Outcome,
        about: Mapping[str, Any],
        files: SessionFiles,
        db: Path,
        redactor: Redactor,
    ) -> None:
        session = facts.session
        self.agent = str(about.get("coding_agent") or "agent")
        self.began = str(session.get("started_at") or "")
        self._outcome = outcome
        self._ended = str(session.get("ended_at") or self.began)
        self._facts, self._about, self._files, self._db, self._redactor = facts, about, files, db, redactor

    def digest(self) -> str:
        """Return what another run of the session would have to differ in; estimates change with every price list."""
        some = Publication("", "run", self.agent, self.began)
        launch, source, metrics, status = self._documents(some, self._ended)
        stages = [{name: stage[name] for name in stage if name not in _ESTIMATES} for stage in metrics["stages"]]
        said = [launch["agents"], launch["worktree"], source, stages, status]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def fill(self, publication: Publication, directory: Path) -> None:
        """Write the run and seal it.

        Args:
            publication: names it.
            directory: to be filled.
        """
        launch, source, metrics, status = self._documents(publication, _clock.now())
        write_document_locked(directory, "launch-contract.json", launch)
        self._tell_moves(directory)
        write_document_locked(directory, "run-provenance.json", source)
        write_document_locked(directory, "execution-metrics.json", metrics)
        write_document_locked(directory, "status.json", status)
        write_document_locked(directory, "final-status.json", status)
        seal_run_locked(directory, publication.session_id)

    def _documents(self, publication: Publication, at: str) -> tuple[Document, Document, Document, Document]:
        facts, outcome = self._facts, self._outcome
        launch = self._launch(publication)
        is_lost = outcome.executor_result == "lost"
        source = provenance(
            launch,
            facts,
            outcome,
            program=self.agent,
            prompt_sha256=facts.prompt_sha256,
            ended_at=None if is_lost else self._ended,
        )
        metrics = metrics_document(publication.session_id, facts, self.began, self._ended)
        status = running_status(launch, at, facts.prompt_sha256)
        return launch, source, metrics, {**final_status(status, outcome, at), "acceptance_eligible": False}

    def _launch(self, publication: Publication) -> Document:
        facts, redactor = self._facts, self._redactor
        agents = [
            listed_agent(
                str(row.get("agent") or self.agent), str(row.get("coding_agent")), str(row.get("model") or ""), redactor
            )
            for row in facts.agents
        ]
        branch = self._about.get("branch")
        return {
            "schema": _SCHEMA,
            "version": 2,
            "origin": "imported",
            "session": listed_session(publication),
            "workflow": {"name": redactor.text(str(facts.session.get("adw_name") or "session"))[:256]},
            "agents": agents,
            "worktree": {
                "path": str(self._about.get("cwd") or "") or None,
                "source_revision": None,
                "branch": redactor.text(str(branch)) if branch else None,
                "dirty_at_launch": None,
            },
            "runner": None,
            "trace": {
                "adw_id": self._files.adw_id,
                "database": str(self._db.absolute()),
                "session_directory": str(self._files.directory.absolute()),
            },
            "tracer_version": VERSION,
        }

    def _tell_moves(self, directory: Path) -> None:
        said = self._outcome.terminal_error or "the session's last turn was answered"
        execution = {"dimension": "execution", "actor": _ACTOR}
        begun = {**execution, "prior": None, "new": "running", "reason": "the agent's own record begins"}
        ended = {**execution, "prior": "running", "new": self._outcome.status, "reason": said}
        moves: list[tuple[str, Document]] = [(self.began, begun)]
        for phase in self._facts.phases:
            phase_id, name = str(phase.get("phase_id")), self._redactor.text(str(phase.get("name")))
            is_good = phase.get("status") == "success"
            category = None if is_good else self._outcome.failure_category
            over = phase_move(phase_id, name, "success" if is_good else "fail", category)
            moves.append((str(phase.get("started_at")), {**phase_move(phase_id, name, "running"), "actor": _ACTOR}))
            moves.append((str(phase.get("ended_at")), {**over, "actor": _ACTOR}))
        for at, move in [*sorted(moves, key=lambda one: one[0]), (self._ended, ended)]:
            append_lifecycle_locked(directory, at=at, **move)
