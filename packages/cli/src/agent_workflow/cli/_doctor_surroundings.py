"""What is around: coding agents on PATH, and the trace database that is used from here."""

import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_workflow.cli._check import Check

_AGENTS = ("pi", "claude", "codex", "gemini", "opencode")
_SQLITE_MAGIC = b"SQLite format 3\0"


def check_agents(search_path: str) -> Iterable[Check]:
    """Find the coding agents that could be run; none is started.

    Args:
        search_path: value of ``PATH``.
    """
    found = {agent: path for agent in _AGENTS if (path := shutil.which(agent, path=search_path))}
    for agent, path in found.items():
        yield Check(f"agent {agent}", "ok", path)
    if not found:
        fix = "install one, or put its folder on PATH; looking at recorded runs needs none"
        yield Check("agents", "warn", f"none of {', '.join(_AGENTS)} is on PATH", fix)


def check_trace_databases(start: Path, environment: Mapping[str, str]) -> Iterable[Check]:
    """Judge the trace database that the commands use which are called in a folder.

    Args:
        start: the folder to look from, up to the root of its repository.
        environment: may name one as ``SSSF_DB``.
    """
    from agent_workflow.tracer import NoTrace, locate_database

    try:
        path = locate_database(start=start, environment=environment)
    except NoTrace:
        yield Check("trace database", "ok", "none here; the first recorded workflow of a repository makes one")
    else:
        yield _judge(path) if path.is_file() else _judge_missing(path, environment.get("SSSF_DB"))


def _judge_missing(path: Path, named: str | None) -> Check:
    if named:
        return Check(
            "trace database", "bad", f"SSSF_DB names {named}, which is no file", "unset SSSF_DB, or correct it"
        )
    from agent_workflow.tracer import locate_data_dir

    if any((locate_data_dir(path) / "sessions").glob("*")):
        fix = f"agent-workflow trace rebuild --db {shlex.quote(str(path))}"
        return Check("trace database", "warn", f"{path} is gone, its sessions are there", fix)
    return Check("trace database", "ok", f"{path} is not there yet; the first recorded workflow makes it")


def _judge(path: Path) -> Check:
    try:
        with path.open("rb") as file:
            is_database = file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError as error:
        return Check("trace database", "bad", f"{path}: {error.strerror}", f"chmod u+r {shlex.quote(str(path))}")
    if not is_database:
        return Check("trace database", "bad", f"{path} is no SQLite database", "move it away, then rebuild it")
    return Check("trace database", "ok", str(path))
