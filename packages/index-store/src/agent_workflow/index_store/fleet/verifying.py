"""Whether a dataset is what its manifests say: each file there, of its size and, when asked, of its digest."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from agent_workflow.index_store.export.errors import DamagedDataset, NewerDataset
from agent_workflow.index_store.export.manifest import Manifest, PartEntry, manifest_path, read_manifest
from agent_workflow.index_store.export.partitions import SCHEMA
from agent_workflow.index_store.export.store import Store, open_store
from agent_workflow.index_store.fleet.hosts import hosts_of
from agent_workflow.index_store.values import Json

_ATTEMPTS = 3


class DatasetFault(NamedTuple):
    """A file of a dataset that is not what it should be."""

    host: str
    path: str
    """As an engine opens it."""
    verdict: str
    """``missing``, ``mismatch`` or ``unreadable``."""
    detail: str


@dataclass(frozen=True)
class FleetVerification:
    """Whether a dataset can be relied on (``fleet-verification/v1``).

    Attributes:
        dataset: where it lies.
        full: whether every file was hashed; else only sizes were compared.
        hosts: the files of each host that its manifest names, by name; None where that cannot be read.
        faults: what is wrong, by host and path.
    """

    dataset: str
    full: bool
    hosts: Mapping[str, int | None]
    faults: tuple[DatasetFault, ...]

    @property
    def valid(self) -> bool:
        """Nothing is wrong as far as it was looked at."""
        return not self.faults

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document."""
        return {
            "schema": "agent-workflow/fleet-verification/v1",
            "dataset": self.dataset,
            "valid": self.valid,
            "file_verification": "full" if self.full else "sizes",
            "hosts": [{"host": host, "file_count": count} for host, count in self.hosts.items()],
            "faults": [dict(fault._asdict()) for fault in self.faults],
        }


def verify_fleet(
    dataset: str, *, full: bool = False, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> FleetVerification:
    """Compare a dataset with its manifests. Nothing is changed.

    Args:
        dataset: a directory, or a URL that fsspec knows.
        full: hash every file; else one that was changed and kept its size is not noticed.
        progress: told how many hosts are done, and of how many.

    Raises:
        InvalidDestination: there is no such protocol.
        MissingDataset: no host has exported there.
    """
    store = open_store(dataset)
    names = hosts_of(store)
    hosts: dict[str, int | None] = {}
    faults: list[DatasetFault] = []
    for done, host in enumerate(names):
        progress(done, len(names))
        hosts[host], found = _verify_host(store, host, full=full)
        faults += found
    return FleetVerification(store.url, full, hosts, tuple(faults))


def _verify_host(store: Store, host: str, *, full: bool) -> tuple[int | None, list[DatasetFault]]:
    found: list[DatasetFault] = []
    count, before = 0, None
    for _ in range(_ATTEMPTS):
        try:
            manifest = read_manifest(store, host)
        except (DamagedDataset, NewerDataset, OSError) as error:
            return None, [DatasetFault(host, store.locate(manifest_path(host)), "unreadable", str(error))]
        if manifest is None:
            return 0, []  # removed meanwhile: no host of the dataset any more
        if manifest == before:
            break  # else an export that ended meanwhile removed files, and the manifest now names others
        count, before = len(manifest.parts), manifest
        found = list(_faults(store, manifest, full=full))
        if not found:
            break
    return count, found


def _faults(store: Store, manifest: Manifest, *, full: bool) -> Iterator[DatasetFault]:
    there = store.find("table=*", f"schema={SCHEMA}", f"host={manifest.host}", "date=*", "part-*")
    for part in sorted(manifest.parts, key=lambda part: part.path(manifest.host)):
        path = part.path(manifest.host)
        if (fault := _fault(store, part, path, there.get(path), full=full)) is not None:
            yield DatasetFault(manifest.host, store.locate(path), *fault)


def _fault(store: Store, part: PartEntry, path: str, size: int | None, *, full: bool) -> tuple[str, str] | None:
    if size is None:
        return "missing", "the manifest names it"
    if size not in (part.size_bytes, -1):  # some places do not tell sizes
        return "mismatch", f"{size} bytes; the manifest says {part.size_bytes}"
    if not full:
        return None
    try:
        content = store.read(path)
    except OSError as error:
        return "unreadable", error.strerror or str(error)
    if content is None:
        return "missing", "the manifest names it"
    digest = hashlib.sha256(content).hexdigest()
    return None if digest == part.sha256 else ("mismatch", f"its SHA-256 is {digest}; the manifest says {part.sha256}")
