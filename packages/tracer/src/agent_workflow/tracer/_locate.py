"""Finding the trace database of the repository one stands in."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_workflow.tracer._config import Config, load_config
from agent_workflow.tracer._errors import NoTrace

CONFIG_NAMES: Final = ("adws/sssf.config.yaml", "sssf.config.yaml")
_USUAL: Final = ("adws/adw_data/sssf.db", "adws/data/sssf.db", ".sssf/data/sssf.db")


def locate_database(
    given: Path | None = None, *, start: Path | None = None, environment: Mapping[str, str] | None = None
) -> Path:
    """Return the trace database to use: ``--db``, ``SSSF_DB``, the configuration's, then the usual places.

    Args:
        given: named by the caller; taken as it is.
        start: folder to look upward from, to the repository's root; the working directory by default.
        environment: of this process by default.

    Raises:
        NoTrace: nothing was found.
    """
    if given is not None:
        return given
    named = (os.environ if environment is None else environment).get("SSSF_DB")
    if named:
        return Path(named)
    configured: Path | None = None
    for folder in _upward((start or Path.cwd()).absolute()):
        for name in CONFIG_NAMES:
            if configured is None and (folder / name).is_file():
                configured = load_config(folder / name).db
        candidates = [folder / name for name in _USUAL]
        for candidate in [configured, *candidates] if configured else candidates:
            if candidate.is_file() or (candidate.parent / "sessions").is_dir():
                return candidate
    if configured is not None:
        return configured
    raise NoTrace("no trace database found here", hint="run agent-workflow init, or name one with --db")


def locate_config(start: Path) -> Path | None:
    """Return the nearest configuration from a folder upward to its repository's root; None where there is none."""
    places = (folder / name for folder in _upward(start.absolute()) for name in CONFIG_NAMES)
    return next((place for place in places if place.is_file()), None)


def locate_data_dir(db: Path) -> Path:
    """Return where the session directories of a trace database are: the configuration's, else beside it.

    Args:
        db: the trace database.
    """
    config = config_naming(db)
    return db.absolute().parent if config is None else config.data_dir


def config_naming(db: Path) -> Config | None:
    """Return the configuration whose trace database this is.

    Args:
        db: the trace database.
    """
    path = Path(os.path.abspath(db))  # noqa: PTH100 - without "..", and links stay links
    for folder in _upward(path.parent):
        for name in CONFIG_NAMES:
            if (folder / name).is_file():
                config = load_config(folder / name)
                if config.db == path:
                    return config
    return None


def _upward(start: Path) -> list[Path]:
    folders = []
    for folder in (start, *start.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            return folders
    return [start]  # outside of a repository nothing above belongs to it
