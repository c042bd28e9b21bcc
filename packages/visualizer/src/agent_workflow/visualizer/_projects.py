"""The databases that are served, by name."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._errors import UnknownProject

_USUAL_FOLDERS: Final = frozenset({"adws", "adw_data", "data", "adw_runtime", ".sssf", ".spf", "sessions"})


class Projects:
    """All databases, each file once; the addresses without a project's name work only when there is exactly one."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._databases: dict[str, Database] = {}
        self._by_real_path: dict[str, Database] = {}
        for path in (path.absolute() for path in paths):
            if self.holding(path) is None:
                name = _free(project_name(path), self._databases)
                self._databases[name] = self._by_real_path[real_path(path)] = Database(name, path)

    def __iter__(self) -> Iterator[Database]:
        return iter(self._databases.values())

    def __len__(self) -> int:
        return len(self._databases)

    def named(self, name: str | None) -> Database:
        """Find a database.

        Raises:
            UnknownProject: no database has this name, or none was named while there are several.
        """
        if name is None:
            if len(self._databases) == 1:
                return next(iter(self))
            told = "no trace database is served" if not self._databases else "several databases are served"
            raise UnknownProject(f"{told}; name one: /api/projects lists them")
        if name not in self._databases:
            raise UnknownProject(f"no trace database is served as {name[:128]!r}; /api/projects lists them")
        return self._databases[name]

    def holding(self, path: Path) -> Database | None:
        """Find the database of a file, by whatever way its path leads there."""
        return self._by_real_path.get(real_path(path))

    def close(self) -> None:
        """Close everything."""
        for database in self:
            database.close()


def real_path(path: Path) -> str:
    """Name a file so that two ways to it have one name; it need not exist, nor be a path that can."""
    try:
        return os.path.realpath(path)
    except ValueError:  # with a NUL in it
        return str(path)


def project_root(path: Path) -> Path:
    """Return the folder that a database belongs to: its repository, else the first folder with a name of its own."""
    for folder in path.parents:
        if (folder / ".git").exists():
            return folder
    return next((folder for folder in path.parents if folder.name not in _USUAL_FOLDERS), path.parent)


def project_name(path: Path) -> str:
    """Name a database for addresses: after its project's folder."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", project_root(path).name).strip("-.")
    return cleaned[:64] or "traces"


def _free(name: str, taken: dict[str, Database]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
