"""The manifest of one host: which files are its dataset now. Replacing it is the one step that changes an answer."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, NamedTuple

from agent_workflow.index_store.export.errors import DamagedDataset, NewerDataset
from agent_workflow.index_store.export.fields import TABLES
from agent_workflow.index_store.export.partitions import part_path
from agent_workflow.index_store.export.policy import Policy
from agent_workflow.index_store.export.store import Store
from agent_workflow.index_store.export.tables import TableExport
from agent_workflow.index_store.reports import Freshness

_ANY_VERSION = "agent-workflow/export-manifest/"
MANIFEST_SCHEMA = f"{_ANY_VERSION}v1"
_MAXIMUM_BYTES = 64 * 1024 * 1024


class PartEntry(NamedTuple):
    """One file that the manifest names."""

    table: str
    day: date
    rows: int
    size_bytes: int
    sha256: str

    def path(self, host: str) -> str:
        """Return its path below the root of the dataset."""
        return part_path(self.table, host, self.day, self.sha256)

    def to_document(self, host: str) -> dict[str, object]:
        """Return the entry as JSON."""
        return {
            "table": self.table,
            "date": self.day.isoformat(),
            "path": self.path(host),
            "rows": self.rows,
            "size_bytes": self.size_bytes,
            "sha256": self.sha256,
        }


@dataclass(frozen=True)
class Manifest:
    """What one host has exported.

    Attributes:
        host: its id in the dataset.
        owner: digest of the state root that exports under this id.
        tool_version: of the package that exported.
        index: generation, schema version, last sync and freshness of the index that it was made from.
        policy: what left.
        tables: every table with its columns, rows and what was left out.
        parts: the files.
        kept_since: days before it were removed by a retention rule and never come back; None without one.
        removed: partitions that the rule removed, ``{"table", "date", "rows", "sha256"}``.
    """

    host: str
    owner: str
    tool_version: str
    index: Mapping[str, Any]
    policy: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Any]]
    parts: tuple[PartEntry, ...]
    kept_since: date | None = None
    removed: tuple[Mapping[str, Any], ...] = field(default=())

    def to_bytes(self) -> bytes:
        """Return the manifest as one line of JSON: the same content is the same bytes."""
        document = {
            "schema": MANIFEST_SCHEMA,
            "host": self.host,
            "owner": self.owner,
            "tool_version": self.tool_version,
            "index": self.index,
            "policy": self.policy,
            "retention": {
                "kept_since": None if self.kept_since is None else self.kept_since.isoformat(),
                "removed": list(self.removed),
            },
            "tables": self.tables,
            "parts": [part.to_document(self.host) for part in self.parts],
        }
        return (json.dumps(document) + "\n").encode()

    @property
    def path(self) -> str:
        """Its path below the root of the dataset."""
        return manifest_path(self.host)

    @cached_property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def manifest_path(host: str) -> str:
    """Return the path of a host's manifest below the root of the dataset."""
    return f"manifests/host={host}/manifest.json"


def export_note_path(host: str) -> str:
    """Return the path of the note on when a host last exported; it stands apart, so a manifest has no clock."""
    return f"manifests/host={host}/exported.json"


def exported_at(store: Store, host: str) -> datetime | None:
    """Return when a host last exported; None where that is not noted."""
    raw = store.read(export_note_path(host))
    try:
        noted = datetime.fromisoformat(json.loads(raw or b"{}")["exported_at"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return noted if noted.tzinfo is not None else None


def read_manifest(store: Store, host: str) -> Manifest | None:
    """Return the manifest of a host, or None where it has none.

    Raises:
        DamagedDataset: it is no manifest.
        NewerDataset: it is one of another version.
    """
    path = manifest_path(host)
    raw = store.read(path)
    if raw is None:
        return None
    try:
        if len(raw) > _MAXIMUM_BYTES:
            raise ValueError("too large")
        document = json.loads(raw)
        if document["schema"] != MANIFEST_SCHEMA and str(document["schema"]).startswith(_ANY_VERSION):
            raise NewerDataset(
                f"{store.locate(path)} is {document['schema']}, which this version does not know",
                path=store.locate(path),
                hint="update agent-workflow",
            )
        if document["schema"] != MANIFEST_SCHEMA or document["host"] != host:
            raise ValueError(f"not {MANIFEST_SCHEMA} of host {host}")
        kept_since = document["retention"]["kept_since"]
        return Manifest(
            host=host,
            owner=str(document["owner"]),
            tool_version=str(document["tool_version"]),
            index=dict(document["index"]),
            policy=dict(document["policy"]),
            tables=dict(document["tables"]),
            parts=tuple(_part(entry) for entry in document["parts"]),
            kept_since=None if kept_since is None else date.fromisoformat(kept_since),
            removed=tuple(document["retention"]["removed"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedDataset(
            f"{store.locate(path)} is no manifest of an export: {error}",
            path=store.locate(path),
            hint="remove it and export that host again",
        ) from error


def _part(entry: Mapping[str, Any]) -> PartEntry:
    table, sha256 = entry["table"], entry["sha256"]
    if table not in TABLES or not isinstance(sha256, str) or len(sha256) != 64 or not sha256.isalnum():
        raise ValueError("a part of no known table, or without a digest")
    return PartEntry(table, date.fromisoformat(entry["date"]), int(entry["rows"]), int(entry["size_bytes"]), sha256)


def describe_index(metadata: Mapping[str, str], freshness: Freshness) -> dict[str, object]:
    """Return what a manifest says of the index that it was made from."""
    return {
        "schema_version": int(metadata["schema_version"]),
        "generation": metadata.get("generation"),
        "last_sync_at": metadata.get("last_sync_at"),
        "last_sync_scope": metadata.get("last_sync_scope"),
        "freshness": freshness.word,
        "source_run_count": freshness.source_runs,
        "current_run_count": freshness.current_runs,
        "stale_run_count": freshness.stale_runs,
        "error_count": freshness.error_runs,
        "historical_run_count": freshness.historical_runs,
    }


def describe_policy(policy: Policy) -> dict[str, object]:
    """Return what a manifest says of the policy."""
    return {"sha256": policy.digest, **policy.to_document()}


def describe_table(table: TableExport) -> dict[str, object]:
    """Return what a manifest says of a table. ``rows`` are those of the index, whatever the retention rule left."""
    return {
        "rows": table.rows,
        "columns": list(table.columns),
        "left_out": list(table.left_out),
        "unrepresentable": table.unrepresentable,
    }
