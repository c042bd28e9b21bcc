"""The launch contract of a run and its status while it goes on; light, because every workflow writes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._config import AgentConfig
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer._version import VERSION
from agent_workflow.tracer.evidence._errors import NotTraced
from agent_workflow.tracer.evidence._publications import Publication
from agent_workflow.tracer.evidence._repository import Checkout
from agent_workflow.tracer.evidence._state_root import ARCHIVE
from agent_workflow.tracer.evidence._writing import read_document

_SCHEMA: Final = "agent-workflow/traced-launch-contract/v1"


def launch_contract(
    publication: Publication,
    *,
    workflow: str,
    agents: Mapping[str, AgentConfig],
    root: str,
    checkout: Checkout,
    runner: Mapping[str, object],
    trace: Mapping[str, object],
    redactor: Redactor,
) -> dict[str, Any]:
    """Write ``launch-contract.json``.

    Args:
        publication: names the run.
        workflow: the program's name.
        agents: of the configuration.
        root: the repository's folder.
        checkout: what git says about it.
        runner: pid and start of the workflow's process.
        trace: where the trace lies.
        redactor: takes secrets out of what people named.
    """
    listed = [listed_agent(agent.name, agent.coding_agent, agent.model, redactor) for agent in agents.values()]
    return {
        "schema": _SCHEMA,
        "version": 1,
        "session": listed_session(publication),
        "workflow": {"name": redactor.text(workflow)[:256]},
        "agents": listed,
        "worktree": {
            "path": root,
            "source_revision": checkout.revision,
            "branch": None if checkout.branch is None else redactor.text(checkout.branch),
            "dirty_at_launch": checkout.is_dirty,
        },
        "runner": dict(runner),
        "trace": dict(trace),
        "tracer_version": VERSION,
    }


def listed_session(publication: Publication) -> dict[str, object]:
    """Write the part of a launch contract that names the run."""
    session = {"id": publication.session_id, "agent_name": None, "agent_class": None, "tier": None}
    return {**session, "retry_of": publication.retry_of, "created_at": publication.began_at}


def listed_agent(name: str, coding_agent: str, model: str, redactor: Redactor) -> dict[str, object]:
    """Write an agent as a launch contract lists it."""
    return {
        "name": redactor.text(name)[:128],
        "coding_agent": redactor.text(coding_agent)[:128],
        "model": redactor.text(model)[:256] or None,
    }


def running_status(launch: Mapping[str, Any], at: str, prompt_sha256: str | None = None) -> dict[str, Any]:
    """Write ``status.json`` of a run that goes on.

    Args:
        launch: its launch contract.
        at: the present time.
        prompt_sha256: digest of the request, once there is one.
    """
    folder = launch["trace"]["session_directory"]
    status = {
        "schema": "agent-workflow/session-status/v2",
        "session_id": launch["session"]["id"],
        "status": "running",
        "disposition": None,
        "created_at": launch["session"]["created_at"],
        "updated_at": at,
        "workdir": launch["worktree"]["path"] or "",
        # In the session's own directory: the request is in its state, what happened in its events.
        "prompt_path": f"{folder}/state.jsonl",
        "log_path": f"{folder}/events.jsonl",
        "executor_result": None,
        "failure_category": None,
    }
    return status if prompt_sha256 is None else {**status, "prompt_sha256": prompt_sha256}


def read_launch(directory: Path) -> dict[str, Any]:
    """Read the launch contract of a traced run.

    Raises:
        NotTraced: there is none, or it lacks what is needed to find the run's process and trace.
    """
    launch = read_document(directory / "launch-contract.json") or {}
    if launch.get("schema") != _SCHEMA or not all(isinstance(launch.get(part), dict) for part in _PARTS):
        raise NotTraced(f"{directory} is no traced run", path=directory)
    needed = [launch[part].get(name) for part, names in _PARTS.items() for name in names]
    if not all(isinstance(value, str) for value in needed) or not isinstance(launch["runner"].get("pid"), int):
        raise NotTraced(f"{directory}: the launch contract is incomplete", path=directory)
    return launch


_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "session": ("id", "created_at"),
    "workflow": ("name",),
    "worktree": ("path",),
    "runner": (),
    "trace": ("adw_id", "database", "session_directory"),
}


def is_published(publication: Publication, files: SessionFiles) -> bool:
    """Tell whether a run that a session remembers is there: it may be archived, or have failed to begin.

    Args:
        publication: of the session, recorded or imported.
        files: the session.
    """
    archived = Path(publication.state_root) / ARCHIVE / publication.session_id
    for directory in (publication.directory, archived):
        trace = (read_document(directory / "launch-contract.json") or {}).get("trace")
        if isinstance(trace, dict):
            return trace.get("session_directory") == str(files.directory.absolute())
    return False


def is_run_of(launch: Mapping[str, Any], files: SessionFiles) -> bool:
    """Tell whether a launch contract is of a session."""
    return Path(launch["trace"]["session_directory"]) == files.directory.absolute()
