"""``export``: the index as a dataset of immutable files, put beside those of other hosts.

The order makes a crash harmless. New parts are put under names of their own, then the manifest is replaced, then the
parts that it no longer names are removed. Whoever reads by the manifest sees the old dataset or the new one.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path

from agent_workflow.index_store.export.checkpoint import Checkpoint, basis_of, keep_checkpoint, load_checkpoint
from agent_workflow.index_store.export.errors import ForeignHost, InvalidDestination, UnlistedField
from agent_workflow.index_store.export.fields import TABLES
from agent_workflow.index_store.export.host import check_host, own_host_id
from agent_workflow.index_store.export.lock import export_lock
from agent_workflow.index_store.export.manifest import (
    Manifest,
    describe_index,
    describe_policy,
    describe_table,
    export_note_path,
    manifest_path,
    read_manifest,
)
from agent_workflow.index_store.export.partitions import SCHEMA, is_retired
from agent_workflow.index_store.export.policy import DEFAULT_POLICY, Policy
from agent_workflow.index_store.export.report import ExportReport
from agent_workflow.index_store.export.retention import check_retain_days, kept_since
from agent_workflow.index_store.export.snapshot import IndexSnapshot, open_snapshot
from agent_workflow.index_store.export.store import TEMPORARY_PREFIX, LocalStore, Store, open_store
from agent_workflow.index_store.export.table_work import TableWork

_OF_AN_EXPORT = re.compile(rf"part-[0-9a-f]{{64}}\.parquet|{re.escape(TEMPORARY_PREFIX)}.*", re.DOTALL)
"""Names that an export gives; files of other names are somebody else's, and stay."""


def export(
    state_root: Path,
    destination: str,
    *,
    policy: Policy = DEFAULT_POLICY,
    host: str | None = None,
    retain_days: int | None = None,
    now: datetime | None = None,
) -> ExportReport:
    """Bring this host's part of a dataset in line with the index.

    Args:
        state_root: the root whose index is exported; nothing of its evidence is touched.
        destination: a directory, or a URL that fsspec knows.
        policy: which fields leave.
        host: id of this host in the dataset, instead of its own.
        retain_days: partitions of days further back are removed and do not come back; None keeps what is kept.
        now: the present, which ``retain_days`` counts back from.

    Raises:
        UnlistedField: the index has a column that is in no list.
        InvalidDestination, ForeignHost: the place, the host or the number of days is wrong.
        ImplausibleClock: ``retain_days`` would count back from a time that cannot be now.
        IndexStoreError: the index cannot be read.
    """
    chosen = None if host is None else check_host(host)
    check_retain_days(retain_days)
    store = open_store(destination)
    with open_snapshot(state_root) as snapshot:
        _refuse_unlisted(snapshot, policy)
        _refuse_inside(store, snapshot.root.path)
        with export_lock(snapshot):
            owner = own_host_id(snapshot)
            before = read_manifest(store, chosen or owner)
            if before is not None and before.owner != _owner(owner):
                raise ForeignHost(
                    f"{store.url} has a host {before.host} that another state root exports",
                    path=store.url,
                    hint="choose another name with --host",
                )
            since = kept_since(store, before, retain_days, now or datetime.now(UTC))
            return _Export(store, snapshot, policy, chosen or owner, _owner(owner), before, since).run()


@dataclass
class _Export:
    """One export, its inputs settled."""

    store: Store
    snapshot: IndexSnapshot
    policy: Policy
    host: str
    owner: str
    before: Manifest | None
    since: date | None

    def run(self) -> ExportReport:
        """Put the parts, then the manifest, then remove what it no longer names."""
        there = self._files_there()
        place, basis = f"{self.store.url} {self.host}", basis_of(self.snapshot, self.policy, self.host)
        last = load_checkpoint(self.snapshot, place, basis, None if self.before is None else self.before.to_bytes())
        parts = () if self.before is None else self.before.parts
        since = self.since or date.min
        with TableWork(
            self.store, self.snapshot, self.policy, host=self.host, since=since, there=there, last=last
        ) as work:
            begun = work.export(parts)
            freshness = self.snapshot.freshness()
            done = {name: begun[name]() for name in TABLES}
        retired = self._retired()
        manifest = Manifest(
            host=self.host,
            owner=self.owner,
            tool_version=version("agent-workflow-index-store"),
            index=describe_index(self.snapshot.metadata(), freshness),
            policy=describe_policy(self.policy),
            tables={name: describe_table(table.told) for name, table in done.items()},
            parts=tuple(part for table in done.values() for part in table.parts),
            kept_since=self.since,
            removed=(*(self.before.removed if self.before else ()), *retired),
        )
        self._replace_manifest(manifest)
        removed = self._remove_others(manifest, there)
        self._note(manifest)
        marks = {name: table.mark for name, table in done.items()}
        keep_checkpoint(self.snapshot, place, Checkpoint(basis, manifest.sha256, self.snapshot.run_marks, marks))
        written = sum(table.written for table in done.values())
        return ExportReport(
            self.store.url,
            self.host,
            self.policy.digest,
            freshness,
            tuple(table.told for table in done.values()),
            written,
            len(manifest.parts) - written,
            removed,
            len(retired),
            self.since,
        )

    def _files_there(self) -> dict[str, int]:
        """Return what an export wrote there: the parts of this host, and what one that was killed left on the way."""
        ours = f"host={self.host}"
        patterns = (("table=*", f"schema={SCHEMA}", ours, "date=*", "*"), ("manifests", ours, "*"))
        found = {path: size for pattern in patterns for path, size in self.store.find(*pattern).items()}
        return {path: size for path, size in found.items() if _OF_AN_EXPORT.fullmatch(path.rpartition("/")[2])}

    def _retired(self) -> list[dict[str, object]]:
        """Return the partitions of the last manifest that the rule removes."""
        if self.before is None or self.since is None:
            return []
        return [
            {"table": part.table, "date": part.day.isoformat(), "rows": part.rows, "sha256": part.sha256}
            for part in self.before.parts
            if is_retired(part.day, self.since)
        ]

    def _replace_manifest(self, manifest: Manifest) -> None:
        content = manifest.to_bytes()
        if self.store.read(manifest_path(self.host)) != content:
            self.store.put(manifest_path(self.host), content)

    def _remove_others(self, manifest: Manifest, there: Mapping[str, int]) -> int:
        """Remove this host's files that the manifest does not name: of the last export, or of one that crashed."""
        leftovers = sorted(there.keys() - {part.path(self.host) for part in manifest.parts})
        for path in leftovers:
            self.store.remove(path)
        return len(leftovers)

    def _note(self, manifest: Manifest) -> None:
        """Write down when this export ended; it is no part of the dataset's content."""
        note = {
            "schema": "agent-workflow/export-note/v1",
            "host": self.host,
            "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "manifest_sha256": manifest.sha256,
        }
        self.store.put(export_note_path(self.host), (json.dumps(note) + "\n").encode())


def _refuse_unlisted(snapshot: IndexSnapshot, policy: Policy) -> None:
    if unlisted := policy.unlisted(snapshot.columns()):
        raise UnlistedField(
            f"the index has {', '.join(unlisted)}, which is in no list of fields, so nothing was exported",
            path=str(snapshot.location.database),
            hint=f'update agent-workflow, or leave it out with without = ["{unlisted[0]}"] in a policy file',
        )


def _refuse_inside(store: Store, state_root: Path) -> None:
    """Keep the dataset out of the state root, where every directory is evidence or the index."""
    if isinstance(store, LocalStore) and store.root.resolve().is_relative_to(state_root.resolve()):
        raise InvalidDestination(
            f"{store.url} lies in the state root", path=store.url, hint="name a directory outside of it"
        )


def _owner(host_id: str) -> str:
    """Return what tells two state roots apart in a manifest, without the id where another name was chosen."""
    return hashlib.sha256(f"agent-workflow export {host_id}".encode()).hexdigest()
