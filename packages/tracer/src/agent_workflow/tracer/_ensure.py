"""Beginning a run: the session exists before anything can fail."""

import getpass
import os
import sys
from pathlib import Path

from agent_workflow.tracer import _clock
from agent_workflow.tracer._closing import (
    PROCESS_IS_GONE,
    REFUSED_CONFIGURATION,
    adopt,
    close_lost_sessions,
    close_session,
    rows_of,
)
from agent_workflow.tracer._config import Config
from agent_workflow.tracer._errors import ConfigError, TraceReadError, WorkflowError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._identity import recorded_command, same_command
from agent_workflow.tracer._ids import is_valid_id, new_adw_id
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._reader import TraceReader
from agent_workflow.tracer._redaction import Redactor, secrets_of
from agent_workflow.tracer._replay import SessionState, replay_state, session_lock
from agent_workflow.tracer._run import Run
from agent_workflow.tracer._shield import Shield
from agent_workflow.tracer._shown import LOST, RUNNING
from agent_workflow.tracer._tracer import Tracer, say
from agent_workflow.tracer.evidence._publications import unsealed_sessions


def ensure(config: Config, adw_id: str | None = None, *, workflow: str = "", program: str = "") -> Run:
    """Begin a session, or join one that exists.

    The session's row is written first; then the configuration is judged, and sessions of this database whose
    process has gone are closed.

    Args:
        config: from ``load_config``.
        adw_id: a session to join or an id to use; a new one when omitted.
        workflow: the name to show for it; by default that of this program.
        program: what is run, where that is not this program.

    Raises:
        WorkflowError: the id cannot name a session.
        TraceWriteFailed: the session's files cannot be written.
        ConfigError: the configuration cannot be used; the session is recorded as failed.
    """
    if adw_id is not None and not is_valid_id(adw_id):
        raise WorkflowError(f"{adw_id!r} cannot name a session", hint="letters, digits, dot, dash, underscore")
    session_id = adw_id or _unused_id(config)
    secrets = secrets_of(os.environ) if config.redact_environment else {}
    tracer = Tracer(
        config.db, config.data_dir, session_id, redactor=Redactor(secrets, config.redact_patterns), shield=Shield()
    )
    engineer = _engineer()
    with session_lock(tracer.files):
        state = _what_is_there(config, tracer)
    if state.session():
        tracer.copy_all()  # the database may have been deleted since
        close_session(tracer, PROCESS_IS_GONE, name=LOST)
    _settle(config, only=tracer.adw_id)
    sizes = tracer.files.events.stat().st_size, tracer.files.state.stat().st_size
    name = workflow or Path(sys.argv[0]).stem or "workflow"
    row = _open_session(tracer, engineer, name)
    run = Run(config, tracer, engineer, row)
    run.way_out.install()
    run.publisher.begin(*sizes, workflow=name, program=program or Path(sys.argv[0]).name or "workflow")
    close_lost_sessions(config.db, config.data_dir, say, skip=session_id)
    _settle(config, skip=session_id)
    _judge(config, run)
    return run


def _unused_id(config: Config) -> str:
    while True:
        adw_id = new_adw_id()
        if not SessionFiles.of(config.data_dir, adw_id).directory.exists():
            return adw_id


def _what_is_there(config: Config, tracer: Tracer) -> SessionState:
    """Read the session from its files; one of the original tracer is first written to them."""
    if not tracer.files.state.stat().st_size and config.db.is_file():
        try:
            with TraceReader(config.db) as reader:
                adopt(tracer, rows_of(reader, tracer.adw_id))
        except TraceReadError:
            pass  # nothing of this session is there: it is a new one
    return replay_state(tracer.files)


def _settle(config: Config, *, only: str = "", skip: str = "") -> None:
    """Complete and seal published runs of this repository that were left behind."""
    if not config.publish:
        return
    unsealed = unsealed_sessions(config.data_dir)
    left = [files for files in unsealed if files.adw_id != skip and only in ("", files.adw_id)]
    if left:
        from agent_workflow.tracer.evidence._finalizing import settle  # only after a run that was cut off

        for files in left:
            settle(files, reason=PROCESS_IS_GONE, actor="tracer", warn=say)


def _open_session(tracer: Tracer, engineer: str, workflow: str) -> int:
    """Write the session's row and this process's; return the number of the latter."""
    moment = _clock.now()
    with session_lock(tracer.files):
        existing = replay_state(tracer.files).session()  # another workflow may have opened it a moment ago
        # The process comes first: a running session without one would look lost to whoever starts just now.
        process = find(os.getpid())
        row = tracer.numbered_row(
            "processes",
            kind="adw",
            name="",
            pid=os.getpid(),
            command=_command(process.command if process else ""),
            started_at=moment,
            ended_at=None,
            start_marker=process.start_marker if process else None,
        )
        if existing:
            names = [name for name in str(existing.get("adw_name") or "").split(" + ") if name]
            joined = " + ".join(names if names and names[-1] == workflow else [*names, workflow])
            tracer.row("sessions", adw_name=joined, status=RUNNING, ended_at=None)
        else:
            tracer.row(
                "sessions",
                adw_name=workflow,
                request=None,
                status=RUNNING,
                engineer=engineer,
                started_at=moment,
                ended_at=None,
                total_tokens=0,
                total_cost=0.0,
            )
    return row


def _command(living: str) -> str:
    """Write this process's command the short way if it can be recognised by it, else as the system shows it."""
    short = recorded_command(sys.argv)
    return short if not living or same_command(short, living) else living[:500]


def _engineer() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for this user id, as in containers
        return str(os.getuid())


def _judge(config: Config, run: Run) -> None:
    for notice in config.notices:
        say(f"{config.path}: {notice}; it is left out")
        run.tracer.event("log", "config", {"notice": notice})
    if not config.problems:
        return
    reason = "; ".join(config.problems)
    run.close_early(f"{REFUSED_CONFIGURATION}: {reason}")
    raise ConfigError(reason, path=config.path, hint="put this right and start again")
