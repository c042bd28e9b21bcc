"""Where a session is kept: where the repository says, in one of the usual places, else in ``.sssf/data``."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_workflow.tracer._config import Config, load_config
from agent_workflow.tracer._errors import NoTrace
from agent_workflow.tracer._locate import CONFIG_NAMES, locate_config, locate_data_dir, locate_database

_OWN: Final = ".sssf"


def settle(db: str, start: Path) -> tuple[Config, tuple[str, ...]]:
    """Find the configuration that holds for a folder, and where its sessions are.

    Args:
        db: the trace database if the caller named one, else empty.
        start: the folder.

    Returns:
        The configuration, fit to record with, and what is wrong with the one that was found.
    """
    root = _root(start)
    file = locate_config(start)
    if file is not None:
        found = load_config(file)
        problems = found.problems
        config = replace(found, problems=(), notices=())  # they keep workflows from running, not commands
    else:
        problems = ()
        own = root / _OWN / "data"
        config = Config(path=root / CONFIG_NAMES[0], root=root, db=own / "sssf.db", data_dir=own)
    try:
        where = locate_database(Path(db) if db else None, start=start).absolute()
    except NoTrace:
        _hide(root / _OWN)
        return config, problems
    if where != config.db:
        config = replace(config, db=where, data_dir=locate_data_dir(where))
    return config, problems


def _hide(folder: Path) -> None:
    """Keep git from seeing the folder; one that cannot be made is told of when the session is."""
    try:
        folder.mkdir(exist_ok=True)
        with (folder / ".gitignore").open("x") as file:
            file.write("*\n")
    except OSError:
        return


def _root(start: Path) -> Path:
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
