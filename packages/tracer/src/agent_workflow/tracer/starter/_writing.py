"""Writing the starter files without harming what is there."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Literal, NamedTuple

_GITIGNORE: Final = (
    b"# what agent-workflow records; it can be read with `agent-workflow trace sessions`\nadws/adw_data/\n"
)


class StarterFile(NamedTuple):
    """One file and what became of it."""

    path: Path
    outcome: Literal["written", "kept", "overwritten", "extended"]


def write_starter(root: Path, *, force: bool = False) -> list[StarterFile]:
    """Put the starter files into a repository.

    Args:
        root: the repository's folder.
        force: overwrite files that are there.

    Returns:
        Every file with what became of it; one that was there is kept, unless forced.

    Raises:
        OSError: a file cannot be written.
    """
    source = resources.files(__package__) / "files"
    written = [_put(item, root / name, force=force) for name, item in sorted(_below(source, ""))]
    return [*written, _ignore(root / ".gitignore")]


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for item in folder.iterdir():
        if item.is_dir():
            if item.name != "__pycache__":
                found.extend(_below(item, f"{prefix}{item.name}/"))
        else:
            found.append((prefix + item.name, item))
    return found


def _put(source: Traversable, target: Path, *, force: bool) -> StarterFile:
    exists = target.exists()
    if exists and not force:
        return StarterFile(target, "kept")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    return StarterFile(target, "overwritten" if exists else "written")


def _ignore(path: Path) -> StarterFile:
    present = path.read_bytes() if path.exists() else b""  # of any encoding, with line ends of any kind
    if b"adws/adw_data/" in present.splitlines():
        return StarterFile(path, "kept")
    separator = b"" if not present or present.endswith(b"\n") else b"\n"
    with path.open("ab") as stream:
        stream.write(separator + _GITIGNORE)
    return StarterFile(path, "extended" if present else "written")
