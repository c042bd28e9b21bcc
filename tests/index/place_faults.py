"""Everything that may be wrong with where evidence lies: links, special files, names."""

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from .evidence_documents import process_result
from .evidence_files import RunDirectory, encode
from .evidence_journals import incident_event
from .fault import DOCUMENT, JOURNAL, Fault


def place_outside(run: RunDirectory) -> Path:
    """Return a place outside of the state root that holds evidence nobody may take for the run's."""
    place = run.path.parent.parent.parent / f"outside-of-{run.session_id}"
    place.mkdir(exist_ok=True)
    (place / "x.json").write_bytes(encode(process_result(returncode=77)))
    (place / "x.jsonl").write_bytes(encode(incident_event(run.session_id, 1)))
    return place


def link_at(name: str, target: Callable[[RunDirectory], str]) -> Callable[[RunDirectory], None]:
    """Put a link in place of a file."""

    def inflict(run: RunDirectory) -> None:
        path = run.path / name
        path.unlink(missing_ok=True)
        path.symlink_to(target(run))

    return inflict


def _run_as_link(target: Callable[[RunDirectory], Path]) -> Callable[[RunDirectory], None]:
    def inflict(run: RunDirectory) -> None:
        to = target(run)
        shutil.rmtree(run.path)
        run.path.symlink_to(to)

    return inflict


def _moved_out(run: RunDirectory) -> Path:
    place = run.path.parent.parent.parent / f"moved-{run.session_id}"
    shutil.copytree(run.path, place)
    return place


def fifo_at(name: str) -> Callable[[RunDirectory], None]:
    """Put a FIFO in place of a file."""

    def inflict(run: RunDirectory) -> None:
        (run.path / name).unlink(missing_ok=True)
        os.mkfifo(run.path / name)

    return inflict


def _socket(run: RunDirectory) -> None:
    place = os.open(run.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{place}/x.json")  # a path of 108 bytes at most
    finally:
        os.close(place)


def _device(run: RunDirectory) -> None:
    os.mknod(run.path / "x.jsonl", 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero: endless to read


def _deep(run: RunDirectory) -> None:
    place = run.path / "/".join(["d"] * 300)
    place.mkdir(parents=True)
    (place / "x.json").write_bytes(encode(process_result()))


def _undecodable(make: Callable[[Path], object]) -> Callable[[RunDirectory], None]:
    """Put something in a run under a name that is no text."""

    def inflict(run: RunDirectory) -> None:
        make(Path(os.fsdecode(os.fsencode(run.path) + b"/\xff.json")))

    return inflict


def _to_nothing(path: Path) -> None:
    path.symlink_to("nowhere.json")


PLACE_FAULTS = (
    Fault(
        "link for a journal",
        link_at(JOURNAL, lambda run: str(place_outside(run) / "x.jsonl")),
        JOURNAL,
        None,
        "unsafe_source",
    ),
    Fault(
        "link for a document",
        link_at("x.json", lambda run: str(place_outside(run) / "x.json")),
        "x.json",
        None,
        "unsafe_source",
    ),
    Fault("link within the run", link_at("x.json", lambda _: DOCUMENT), "x.json", None, "unsafe_source"),
    Fault("link to nothing", link_at("x.json", lambda _: "nowhere.json"), "x.json", None, "unsafe_source"),
    Fault("link to itself", link_at("x.json", lambda _: "x.json"), "x.json", None, "unsafe_source"),
    Fault("link to a device", link_at("x.jsonl", lambda _: "/dev/zero"), "x.jsonl", None, "unsafe_source"),
    Fault("link for a directory", link_at("more", lambda run: str(place_outside(run))), "more", None, "unsafe_source"),
    Fault("link to the run's parent", link_at("more", lambda _: "."), "more", None, "unsafe_source"),
    Fault("link for the run directory", _run_as_link(_moved_out), "", None, "unsafe_source"),
    Fault("link to nothing for the run directory", _run_as_link(lambda _: Path("nowhere")), "", None, "unsafe_source"),
    Fault("link to itself for the run directory", _run_as_link(lambda run: run.path), "", None, "unsafe_source"),
    Fault("FIFO for a document", fifo_at("x.json"), "x.json", None, "unsafe_source"),
    Fault("FIFO for a journal", fifo_at(JOURNAL), JOURNAL, None, "unsafe_source"),
    Fault("socket for a document", _socket, "x.json", None, "unsafe_source"),
    Fault("device for a journal", _device, "x.jsonl", None, "unsafe_source"),
    Fault("directory named x.json", lambda run: (run.path / "x.json").mkdir(), "x.json", None, "unsafe_source"),
    Fault("directories 300 deep", _deep, "d/d"),
    Fault("file name that is no text", _undecodable(lambda path: path.write_bytes(encode(process_result()))), ".json"),
    Fault("directory name that is no text", _undecodable(Path.mkdir), ".json", None, "unsafe_source"),
    Fault("FIFO whose name is no text", _undecodable(os.mkfifo), ".json", None, "unsafe_source"),
    Fault("link whose name is no text", _undecodable(_to_nothing), ".json", None, "unsafe_source"),
)
"""Something other than a regular file below real directories."""
