"""What is around: coding agents on PATH, and trace databases that can be seen from here."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_workflow.cli._check import Check

_AGENTS = ("pi", "claude", "codex", "gemini", "opencode")
_USUAL_DATABASES = ("adws/adw_data/sssf.db", "adws/data/sssf.db", ".sssf/data/sssf.db")
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
    """Find the trace databases that are used from a folder.

    Args:
        start: the folder to look from, up to the root of its repository.
        environment: may name one as ``SSSF_DB``.
    """
    named = environment.get("SSSF_DB")
    candidates = [Path(named)] if named else []
    candidates += [folder / usual for folder in _up_to_repository(start) for usual in _USUAL_DATABASES]
    found = [path for path in candidates if path.is_file()]
    if named and not Path(named).is_file():
        yield Check("trace database", "bad", f"SSSF_DB names {named}, which is no file", "unset SSSF_DB, or correct it")
    for path in found:
        yield _judge(path)
    if not found and not named:
        yield Check("trace database", "ok", "none here; the first recorded workflow of a repository makes one")


def _up_to_repository(start: Path) -> Iterable[Path]:
    for folder in (start, *start.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _judge(path: Path) -> Check:
    try:
        with path.open("rb") as file:
            is_database = file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError as error:
        return Check("trace database", "bad", f"{path}: {error.strerror}", f"chmod u+r {path}")
    if not is_database:
        return Check("trace database", "bad", f"{path} is no SQLite database", "move it away, then rebuild it")
    return Check("trace database", "ok", str(path))
