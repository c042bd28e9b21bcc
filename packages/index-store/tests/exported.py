"""An exported dataset as a reader without any engine sees it: files, manifest, rows."""

import hashlib
import json
from pathlib import Path
from typing import Any

IGNORED = "exported.json"
"""The note on when an export ended, which is no content."""


def files_of(dataset: Path) -> dict[str, bytes]:
    """Return every file of a dataset but the note, temporary ones as well."""
    return {
        str(path.relative_to(dataset)): path.read_bytes()
        for path in sorted(dataset.rglob("*"))
        if path.is_file() and path.name != IGNORED
    }


def parts_of(dataset: Path) -> dict[str, bytes]:
    """Return the files with rows."""
    return {name: content for name, content in files_of(dataset).items() if name.startswith("table=")}


def manifest_of(dataset: Path, host: str) -> dict[str, Any]:
    """Return a host's manifest."""
    document: dict[str, Any] = json.loads((dataset / "manifests" / f"host={host}" / "manifest.json").read_bytes())
    return document


def rows_of(dataset: Path, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table, each with the day of its partition as text."""
    import pyarrow.parquet as pq

    found: list[dict[str, Any]] = []
    for path in sorted((dataset / f"table={table}").rglob("part-*.parquet")):
        day = path.parent.name.removeprefix("date=")
        found += [row | {"date": day} for row in pq.ParquetFile(path).read().to_pylist()]
    return found


def assert_whole(dataset: Path, host: str) -> dict[str, Any]:
    """See that every file that the manifest names is there with the digest that it has in it; return the manifest."""
    manifest = manifest_of(dataset, host)
    for part in manifest["parts"]:
        content = (dataset / part["path"]).read_bytes()
        assert (part["sha256"], part["size_bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))
        assert part["path"].endswith(f"part-{part['sha256']}.parquet")
    return manifest
