"""The hosts of a dataset, by their manifests."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import NoReturn

from agent_workflow.index_store.export.errors import MissingDataset
from agent_workflow.index_store.export.fields import TABLES
from agent_workflow.index_store.export.manifest import Manifest, PartEntry, exported_at, read_manifest
from agent_workflow.index_store.export.store import Store
from agent_workflow.index_store.values import Json

_WORST_FIRST = ("missing", "stale", "incomplete", "current")


@dataclass(frozen=True)
class HostStanding:
    """How one host's part of the dataset stands.

    Attributes:
        host: its id.
        freshness: what its index was when it exported: ``current``, ``stale`` or ``incomplete``.
        current_runs, stale_runs, error_runs: of its index, then.
        last_sync_at: when its index was last brought in line with its evidence.
        exported_at: when it last exported; None where that is not noted.
        kept_since: first day that its retention rule keeps.
        left_out: columns of the answer that its policy, or every policy, leaves out.
    """

    host: str
    freshness: str
    current_runs: int
    stale_runs: int
    error_runs: int
    last_sync_at: str | None
    exported_at: str | None
    kept_since: date | None
    left_out: tuple[str, ...]

    def to_document(self) -> dict[str, Json]:
        """Return the standing as JSON."""
        return {
            "host": self.host,
            "freshness": self.freshness,
            "current_run_count": self.current_runs,
            "stale_run_count": self.stale_runs,
            "error_count": self.error_runs,
            "last_sync_at": self.last_sync_at,
            "exported_at": self.exported_at,
            "kept_since": None if self.kept_since is None else self.kept_since.isoformat(),
            "left_out": list(self.left_out),
        }


def read_hosts(store: Store) -> tuple[Manifest, ...]:
    """Return the manifests of all hosts, by name.

    Raises:
        MissingDataset: there is none.
        DamagedDataset: one of them is none.
    """
    found = tuple(manifest for host in hosts_of(store) if (manifest := read_manifest(store, host)) is not None)
    return found or _refuse(store)


def hosts_of(store: Store) -> tuple[str, ...]:
    """Return the names of all hosts.

    Raises:
        MissingDataset: there is none.
    """
    paths = store.find("manifests", "host=*", "manifest.json")
    return tuple(path.split("/")[1].removeprefix("host=") for path in paths) or _refuse(store)


def _refuse(store: Store) -> NoReturn:
    raise MissingDataset(
        f"no host has exported to {store.url}",
        path=store.url,
        hint=f"agent-workflow index export --to {shlex.quote(store.url)}",
    )


def standing(store: Store, manifest: Manifest, table: str) -> HostStanding:
    """Describe a host for a question to one table."""
    index, columns, noted = manifest.index, present(manifest, table), exported_at(store, manifest.host)
    return HostStanding(
        manifest.host,
        str(index.get("freshness")),
        int(index.get("current_run_count") or 0),
        int(index.get("stale_run_count") or 0),
        int(index.get("error_count") or 0),
        index.get("last_sync_at"),
        None if noted is None else noted.isoformat(),
        manifest.kept_since,
        tuple(field.name for field in TABLES[table] if field.name not in columns),
    )


def present(manifest: Manifest, table: str) -> tuple[str, ...]:
    """Return the columns of a table that a host exported; none of a table that it does not know."""
    described: Mapping[str, object] = manifest.tables.get(table, {})
    columns = described.get("columns", ())
    return tuple(map(str, columns)) if isinstance(columns, list) else ()


def parts_between(manifest: Manifest, table: str, since: datetime | None, until: datetime | None) -> list[PartEntry]:
    """Return the parts of a table whose days can have rows of a time."""
    return [
        part
        for part in manifest.parts
        if part.table == table
        and (since is None or part.day >= since.date())
        and (until is None or part.day <= until.date())
    ]


def worst(words: list[str]) -> str:
    """Return the freshness of the whole: that of the host that stands worst."""
    return min(words, key=lambda word: _WORST_FIRST.index(word) if word in _WORST_FIRST else -1)
