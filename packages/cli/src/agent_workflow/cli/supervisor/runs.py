"""What a run directory says about its run: status, launch contract, where its trace lies."""

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent_workflow.cli.supervisor.clock import parse_time
from agent_workflow.cli.supervisor.documents import (
    BadEvidence,
    Document,
    inner,
    read_document,
    text,
    whole_number,
)

LIVE = frozenset({"prepared", "launched", "running", "interruption_requested"})
TRACED = "agent-workflow/traced-launch-contract/v1"
LAUNCH = "launch-contract.json"
STATUS = "status.json"
FINAL_STATUS = "final-status.json"
RECEIPT = "final-receipt.json"


@dataclass(frozen=True, slots=True)
class Trace:
    """Where the trace of a run lies, and whose stream each agent prints: pi, claude, codex, or an unknown one."""

    adw_id: str
    session: Path
    programs: dict[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """A run directory that is neither sealed nor known to have ended.

    Attributes:
        status: the stored word; None where the status is missing or damaged.
        status_fault: why it is damaged, else None.
        document: the stored status, empty where there is none.
        launch: the launch contract, empty where there is none.
        trace: of a traced run.
    """

    session_id: str
    directory: Path
    status: str | None
    status_fault: str | None
    document: Document
    launch: Document
    trace: Trace | None

    @property
    def created_at(self) -> datetime | None:
        """When it was created, by the wall's clock of then."""
        return parse_time(inner(self.launch, "session").get("created_at")) or parse_time(
            self.document.get("created_at")
        )

    @property
    def runner_pid(self) -> int | None:
        """The pid that its launch contract or status names."""
        if self.trace is not None:
            return whole_number(inner(self.launch, "runner").get("pid"))
        return whole_number(self.document.get("pane_pid"))

    @property
    def pane(self) -> str | None:
        """The terminal's pane that it works in, None where its name is none of tmux."""
        pane = text(self.document.get("tmux_pane_id"))
        return pane if pane is not None and _PANE.match(pane) else None

    @property
    def program(self) -> str | None:
        """The agent program of a run that another system recorded, by the name of its stream: pi, claude, codex."""
        plan = inner(self.launch, "command_plan")
        form = text(plan.get("stream_format")) or ""
        for name in ("codex", "claude"):
            if form.startswith(name):
                return name
        executor = text(plan.get("executor")) or text(self.document.get("executor")) or ""
        return program_of(executor)


_PANE = re.compile(r"%[0-9]{1,9}\Z")
_PROGRAMS = (("claude", "claude"), ("codex", "codex"), ("pi", "pi"), ("scripted", "pi"))
"""Names of agents, and whose stream each prints."""


def program_of(executor: str) -> str | None:
    """Return which known agent an executor's name means, else None."""
    name = os.path.basename(executor).lower()  # noqa: PTH119 - a text, no path of ours
    for known, program in _PROGRAMS:
        if name == known or name.startswith((f"{known}-", f"{known}.", f"{known}_")):
            return program
    return None


class EmptyRun(BadEvidence):
    """A directory that a recorder has claimed and not filled yet, or never will."""


def read_run(directory: Path) -> Run:
    """Read what a run directory says about itself.

    Raises:
        EmptyRun: there is nothing in it.
        BadEvidence: it has neither a launch contract nor a status that can be read.
    """
    launch = read_document(directory / LAUNCH)
    fault: str | None = None
    document: Document | None = None
    try:
        document = read_document(directory / STATUS)
    except BadEvidence as bad:
        if launch is None:
            raise
        fault = bad.reason
    if launch is None and document is None:
        if not any(directory.iterdir()):
            raise EmptyRun(directory, "is empty")
        raise BadEvidence(directory, "has neither a launch contract nor a status")
    status = None if document is None else text(document.get("status"))
    if document is not None and status is None and fault is None:
        fault = "has no status"
    if status is None and launch is None:
        raise BadEvidence(directory / STATUS, "has no status, and there is no launch contract to rebuild it from")
    return Run(directory.name, directory, status, fault, document or {}, launch or {}, _trace(launch))


def _trace(launch: Document | None) -> Trace | None:
    if launch is None or launch.get("schema") != TRACED:
        return None
    where = inner(launch, "trace")
    adw_id, session = text(where.get("adw_id")), text(where.get("session_directory"))
    if adw_id is None or session is None:
        return None
    agents = launch.get("agents")
    programs = {
        str(agent.get("name")): program_of(str(agent.get("coding_agent"))) or ""
        for agent in (agents if isinstance(agents, list) else [])
        if isinstance(agent, dict)
    }
    return Trace(adw_id, Path(session), programs)
