"""Versions of the packages, of Python and of the two SQLites, with the faults that are known of them."""

import platform
import sqlite3
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import apsw

from agent_workflow.cli._check import Check

_PACKAGES = ("evidence-schemas", "index-store", "tracer", "visualizer", "cli")
_FIRST_WITH_WAL = (3, 7, 0)
_MENDED = (3, 51, 3)
_MENDED_ON_BRANCH = {(3, 50): 7, (3, 44): 6}


def check_versions() -> Iterable[Check]:
    """Name every version, and warn of a SQLite that may lose commits."""
    yield Check("packages", "ok", ", ".join(_installed()))
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    upgrade = "uv pip install --upgrade apsw, or: pip install --upgrade apsw"
    yield check_sqlite("sqlite (index)", apsw.sqlite_lib_version(), upgrade)
    newer = "use a Python that brings SQLite 3.51.3 or newer"
    yield check_sqlite("sqlite (trace)", sqlite3.sqlite_version, newer)


def _installed() -> Iterable[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(f'agent-workflow-{name}')}"
        except PackageNotFoundError:
            yield f"{name} not installed"


def check_sqlite(name: str, found: str, fix: str) -> Check:
    """Judge one version of SQLite.

    Args:
        name: which of the two it is.
        found: its version, for example ``3.45.1``.
        fix: what to do where it has the fault.
    """
    if has_wal_reset_bug(tuple(int(part) for part in found.split("."))):
        detail = f"{found} has the WAL-reset bug: with several writers, a commit may be lost (sqlite.org/wal.html)"
        return Check(name, "warn", detail, fix)
    return Check(name, "ok", found)


def has_wal_reset_bug(found: tuple[int, ...]) -> bool:
    """Tell whether a version of SQLite may lose commits when its write-ahead log starts over.

    Present from 3.7.0, mended in 3.51.3, and in 3.50.7 and 3.44.6 of two older branches.
    """
    if not _FIRST_WITH_WAL <= found < _MENDED:
        return False
    mended = _MENDED_ON_BRANCH.get((found[0], found[1]))
    return mended is None or found < (found[0], found[1], mended)
