"""Everything that may be wrong with one run, each fault named for itself.

A fault is done to a run directory that was valid. It says where it can be seen, file and line, so that a test can ask
whether the person who has to repair it is told.
"""

import os
import shutil
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .evidence_builder import (
    CARD,
    CATALOG,
    RECEIPT,
    RunDirectory,
    artifact,
    command_catalog,
    encode,
    execution_metrics,
    final_receipt,
    health_sample,
    incident_event,
    metrics_stage,
    process_result,
)

Outcome = Literal["error", "notice"]

JOURNAL = "incident-events.jsonl"
DOCUMENT = "process-result.json"
MEBIBYTE = 1024 * 1024
NESTING = 100_000


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a run.

    Attributes:
        name: what is wrong, for the test's id.
        inflict: does it to a run directory.
        path: the file that whoever repairs it must be told, below the run directory.
        line: the line in it, where there is one.
        category: the word for ``index_errors.category`` where the contract settles it.
        outcome: an error of the run, or a notice.
    """

    name: str
    inflict: Callable[[RunDirectory], object]
    path: str
    line: int | None = None
    category: str | None = None
    outcome: Outcome = "error"


def _second_line(make: Callable[[str], bytes], name: str = JOURNAL) -> Callable[[RunDirectory], None]:
    """Put a bad line behind the first of a journal; ``make`` gets the session id."""

    def inflict(run: RunDirectory) -> None:
        path = run.path / name
        mode = stat.S_IMODE(path.stat().st_mode)
        first, *rest = path.read_bytes().splitlines(keepends=True)
        run.write(name, b"".join([first, make(run.session_id), b"\n", *rest]), mode=mode)

    return inflict


def _line(name: str, make: Callable[[str], bytes], journal: str = JOURNAL) -> Fault:
    return Fault(name, _second_line(make, journal), journal, 2, "run_index_failed")


def _with(field: str, text: bytes) -> Callable[[str], bytes]:
    """Return an incident whose evidence holds a field written exactly like this."""

    def make(session_id: str) -> bytes:
        record = encode(incident_event(session_id, 55, evidence={field: "MARK"})).rstrip(b"\n")
        return record.replace(b'"MARK"', text)

    return make


def _incident(old: bytes, new: bytes) -> Callable[[str], bytes]:
    """Return an incident with some of its bytes replaced."""

    def make(session_id: str) -> bytes:
        record = encode(incident_event(session_id, 55)).rstrip(b"\n")
        if old not in record:
            raise ValueError(f"{old!r} is not in an incident")
        return record.replace(old, new)

    return make


def _document(name: str, content: bytes | Callable[[str], object], path: str = DOCUMENT) -> Fault:
    def inflict(run: RunDirectory) -> None:
        run.write(path, content if isinstance(content, bytes) else content(run.session_id))

    return Fault(name, inflict, path, None, "run_index_failed")


def _health(**changes: object) -> Callable[[str], bytes]:
    return lambda session_id: encode(health_sample(session_id, 15, **changes)).rstrip(b"\n")


_HEALTH = "run-health-samples.jsonl"
_SEVERITY = b'"severity": "medium"'


def _first_line_welded(run: RunDirectory) -> None:
    first, second, *rest = (run.path / JOURNAL).read_bytes().splitlines(keepends=True)
    run.write(JOURNAL, b"".join([first.rstrip(b"\n"), second, *rest]))


def _torn_then_welded(run: RunDirectory) -> None:
    first, second, *rest = (run.path / JOURNAL).read_bytes().splitlines(keepends=True)
    run.write(JOURNAL, b"".join([first, second[:40], *rest]))


def _journal_with_mark(run: RunDirectory) -> None:
    run.write(JOURNAL, b"\xef\xbb\xbf" + (run.path / JOURNAL).read_bytes())


def _hole_of_zeros(run: RunDirectory) -> None:
    data = bytearray((run.path / JOURNAL).read_bytes())
    start = data.index(b"\n") + 20
    data[start : start + 64] = bytes(64)
    run.write(JOURNAL, bytes(data))


def _too_large(name: str) -> Callable[[RunDirectory], None]:
    def inflict(run: RunDirectory) -> None:
        path = run.write(name, b"")
        os.truncate(path, 65 * MEBIBYTE)  # sparse: costs no disk

    return inflict


RECORD_FAULTS = (
    _line("bad JSON", lambda _: b"{not json"),
    _line("single quotes", lambda _: b"{'schema': 'agent-workflow/incident-event/v1'}"),
    _line("comma behind the last field", _incident(b"}", b",}")),
    _line("text behind the record", lambda run: encode(incident_event(run, 55)).rstrip(b"\n") + b" done"),
    _line("wrong type", _incident(_SEVERITY, b'"severity": 5')),
    _line("wrong word", _incident(_SEVERITY, b'"severity": "catastrophic"')),
    _line("missing field", _incident(_SEVERITY + b", ", b"")),
    _line("field that is not in the contract", _incident(_SEVERITY, _SEVERITY + b', "mood": "curious"')),
    _line("incident without a valid id", _incident(b"a" * 24, b"A" * 24)),
    _line("summary longer than its contract allows", _incident(b"No semantic progress", b"x" * 2049)),
    _line("NaN", _with("score", b"NaN")),
    _line("Infinity", _with("score", b"Infinity")),
    _line("-Infinity", _with("score", b"-Infinity")),
    _line("NaN as a measurement", _health(seconds_since_semantic_progress=float("nan")), _HEALTH),
    _line(
        "1e999 as a measurement",
        lambda run: _health(seconds_since_semantic_progress=1)(run).replace(
            b'"seconds_since_semantic_progress": 1', b'"seconds_since_semantic_progress": 1e999'
        ),
        _HEALTH,
    ),
    _line("2^63 as a measurement", _health(output_bytes=2**63), _HEALTH),
    _line("integer of 5,000 digits", _with("count", b"9" * 5000)),
    _line("duplicate key", _incident(_SEVERITY, _SEVERITY + b', "severity": "high"')),
    _line("duplicate key, equal values", _incident(_SEVERITY, _SEVERITY + b", " + _SEVERITY)),
    _line("duplicate key, space before the colon", _incident(_SEVERITY, _SEVERITY + b', "severity" : "high"')),
    _line("duplicate key, tab before the colon", _incident(_SEVERITY, _SEVERITY + b', "severity"\t: "high"')),
    _line("duplicate key, nested", _with("inner", b'{"a": 1, "b": {"c": [{"d": 1, "d": 2}]}}')),
    _line("duplicate key, spelled with an escape", _with("inner", b'{"a": 1, "\\u0061": 2}')),
    _line("duplicate key, with a colon inside it", _with("inner", b'{"a\\":": 1, "a\\":": 2}')),
    _line("duplicate key in a health sample", lambda run: _health()(run)[:-1] + b', "output_bytes": 7}', _HEALTH),
    _line(
        "duplicate key in a health sample, space before the colon",
        lambda run: _health()(run)[:-1] + b', "output_bytes" : 7}',
        _HEALTH,
    ),
    _line("lone high surrogate", _with("text", b'"\\ud83d"')),
    _line("lone low surrogate", _with("text", b'"\\udcb2"')),
    _line("surrogates in the wrong order", _with("text", b'"\\ude00\\ud83d"')),
    _line("lone surrogate in a key", _with("inner", b'{"\\ud83d": 1}')),
    _line("invalid UTF-8", _with("text", b'"\xff\xfe"')),
    _line("half of a character", _with("text", b'"\xe2\x80"')),
    _line("surrogate encoded as UTF-8", _with("text", b'"\xed\xa0\xbd"')),
    _line("overlong UTF-8", _with("text", b'"\xc0\xaf"')),
    _line("NUL in a string", _with("text", b'"a\x00b"')),
    _line("NUL behind the record", lambda run: encode(incident_event(run, 55)).rstrip(b"\n") + b"\x00"),
    Fault("hole of NULs in a journal", _hole_of_zeros, JOURNAL, 2, "run_index_failed"),
    Fault("byte order mark before a journal", _journal_with_mark, JOURNAL, 1, "run_index_failed"),
    _line(f"{NESTING} arrays deep", _with("deep", b"[" * NESTING + b"]" * NESTING)),
    _line(f"{NESTING} objects deep", _with("deep", b'{"a":' * NESTING + b"1" + b"}" * NESTING)),
    _line(f"{NESTING} arrays never closed", lambda _: b"[" * NESTING),
    _line("line of 20 MiB that is no JSON", lambda _: b'{"schema": "' + b"x" * (20 * MEBIBYTE)),
    _line("empty line", lambda _: b""),
    _line("blank line", lambda _: b"  \t "),
    _line("number for a record", lambda _: b"42"),
    _line("array for a record", lambda _: b"[]"),
    _line("null for a record", lambda _: b"null"),
    _line("raw newline in a string", _incident(b"No semantic", b"No\nsemantic")),
    Fault("two records welded into one line", _first_line_welded, JOURNAL, 1, "run_index_failed"),
    Fault("torn line with the next one welded to it", _torn_then_welded, JOURNAL, 2, "run_index_failed"),
    _line("contract whose id is none", _incident(b"incident-event/v1", b"../incident event\\n/v1")),
    _document("document that is no JSON", b"{not json\n"),
    _document("empty document", b""),
    _document("blank document", b" \n\n"),
    _document("document cut off in the middle", encode(process_result())[:200]),
    _document("two documents in one file", encode(process_result()) * 2),
    _document("document in UTF-16", encode(process_result()).decode().encode("utf-16")),
    _document("byte order mark before a document", b"\xef\xbb\xbf" + encode(process_result())),
    _document("document of NULs", bytes(4096)),
    _document(f"document {NESTING} deep", b"[" * NESTING),
    _document("array for a document", b"[]\n"),
    _document("text for a document", b'"completed"\n'),
    _document("2^63 in a document", lambda _: process_result(returncode=2**63)),
    _document("number of the wrong kind", lambda _: process_result(returncode=0.5)),
    _document("true for a number", lambda _: process_result(returncode=True)),
    _document("number for a truth", lambda _: process_result(timed_out=0)),
    _document("negative size", lambda _: process_result(stdout_bytes=-1)),
    _document(
        "stage that is there twice",
        lambda run: execution_metrics(run, stages=[metrics_stage("total"), metrics_stage("total")]),
        "execution-metrics.json",
    ),
    Fault("document of 65 MiB", _too_large("large.json"), "large.json"),
    Fault("journal of 65 MiB", _too_large("large.jsonl"), "large.jsonl"),
)
"""Bytes that are no valid record."""


def _retire(run: RunDirectory) -> None:
    run.write("execution-metrics.json", {"schema": "agent-workflow/execution-metrics/retired-v1"})


CONTRACT_FAULTS = (
    Fault("retired contract", _retire, "execution-metrics.json", None, "historical_artifact"),
    Fault(
        "unknown contract in a document",
        lambda run: run.write("mood.json", {"schema": "agent-workflow/mood/v7"}),
        "mood.json",
        outcome="notice",
    ),
    Fault(
        "unknown contract in a journal",
        _second_line(lambda run: encode(incident_event(run, 55, schema="agent-workflow/incident-event/v9"))[:-1]),
        JOURNAL,
        outcome="notice",
    ),
)
"""Records of another time."""


def _outside(run: RunDirectory) -> Path:
    """Return a place outside of the state root that holds evidence nobody may take for the run's."""
    place = run.path.parent.parent.parent / f"outside-of-{run.session_id}"
    place.mkdir(exist_ok=True)
    (place / "x.json").write_bytes(encode(process_result(returncode=77)))
    (place / "x.jsonl").write_bytes(encode(incident_event(run.session_id, 1)))
    return place


def _link(name: str, target: Callable[[RunDirectory], str]) -> Callable[[RunDirectory], None]:
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


def _fifo(name: str) -> Callable[[RunDirectory], None]:
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


def _undecodable_name(run: RunDirectory) -> None:
    Path(os.fsdecode(os.fsencode(run.path) + b"/\xff.json")).write_bytes(encode(process_result()))


PLACE_FAULTS = (
    Fault(
        "link for a journal", _link(JOURNAL, lambda run: str(_outside(run) / "x.jsonl")), JOURNAL, None, "unsafe_source"
    ),
    Fault(
        "link for a document",
        _link("x.json", lambda run: str(_outside(run) / "x.json")),
        "x.json",
        None,
        "unsafe_source",
    ),
    Fault("link within the run", _link("x.json", lambda _: DOCUMENT), "x.json", None, "unsafe_source"),
    Fault("link to nothing", _link("x.json", lambda _: "nowhere.json"), "x.json", None, "unsafe_source"),
    Fault("link to itself", _link("x.json", lambda _: "x.json"), "x.json", None, "unsafe_source"),
    Fault("link to a device", _link("x.jsonl", lambda _: "/dev/zero"), "x.jsonl", None, "unsafe_source"),
    Fault("link for a directory", _link("more", lambda run: str(_outside(run))), "more", None, "unsafe_source"),
    Fault("link to the run's parent", _link("more", lambda _: "."), "more", None, "unsafe_source"),
    Fault("link for the run directory", _run_as_link(_moved_out), "", None, "unsafe_source"),
    Fault("link to nothing for the run directory", _run_as_link(lambda _: Path("nowhere")), "", None, "unsafe_source"),
    Fault("link to itself for the run directory", _run_as_link(lambda run: run.path), "", None, "unsafe_source"),
    Fault("FIFO for a document", _fifo("x.json"), "x.json", None, "unsafe_source"),
    Fault("FIFO for a journal", _fifo(JOURNAL), JOURNAL, None, "unsafe_source"),
    Fault("socket for a document", _socket, "x.json", None, "unsafe_source"),
    Fault("device for a journal", _device, "x.jsonl", None, "unsafe_source"),
    Fault("directory named x.json", lambda run: (run.path / "x.json").mkdir(), "x.json", None, "unsafe_source"),
    Fault("directories 300 deep", _deep, "d/d"),
    Fault("file name that is no text", _undecodable_name, ".json"),
)
"""Something other than a regular file below real directories."""


def _receipt(**changes: object) -> Callable[[RunDirectory], None]:
    """Change fields of the receipt; it stays read-only."""
    return lambda run: run.rewrite(RECEIPT, changes)


def _listing(path: str) -> Callable[[RunDirectory], None]:
    """Let the receipt list the card under another path as well."""

    def inflict(run: RunDirectory) -> None:
        entry = artifact(run.path, "prompt.md") | {"path": path}
        run.rewrite(RECEIPT, {"artifacts": [*run.read(RECEIPT)["artifacts"], entry]})

    return inflict


def _disagreeing(run: RunDirectory) -> None:
    entry = artifact(run.path, "prompt.md") | {"sha256": "0" * 64}
    run.rewrite(RECEIPT, {"artifacts": [*run.read(RECEIPT)["artifacts"], entry]})


def _unlisted(name: str) -> Callable[[RunDirectory], None]:
    def inflict(run: RunDirectory) -> None:
        kept = [entry for entry in run.read(RECEIPT)["artifacts"] if entry["path"] != name]
        run.rewrite(RECEIPT, {"artifacts": kept})

    return inflict


def _flipped(name: str) -> Callable[[RunDirectory], None]:
    def inflict(run: RunDirectory) -> None:
        data = bytearray((run.path / name).read_bytes())
        data[len(data) // 2] ^= 1
        run.write(name, bytes(data), mode=0o444)

    return inflict


def _sealed_with_another_catalog(run: RunDirectory) -> None:
    run.write(CATALOG, command_catalog() | {"role": "review"}, mode=0o444)
    run.seal([entry["path"] for entry in run.read(RECEIPT)["artifacts"]])


def _sealed_with_another_card(run: RunDirectory) -> None:
    run.write(CARD, "another card\n", mode=0o444)
    run.seal([entry["path"] for entry in run.read(RECEIPT)["artifacts"]])


def _artifact_as_link(run: RunDirectory) -> None:
    copy = _outside(run) / "output.log"
    shutil.copyfile(run.path / "output.log", copy)
    _link("output.log", lambda _: str(copy))(run)


def _artifact_behind_link(run: RunDirectory) -> None:
    copy = _outside(run) / "collections"
    shutil.move(run.path / "collections", copy)
    (run.path / "collections").symlink_to(copy)


def _receipt_as_link(run: RunDirectory) -> None:
    copy = _outside(run) / "receipt"
    shutil.move(run.path / RECEIPT, copy)
    (run.path / RECEIPT).symlink_to(copy)


def _artifact_as_directory(run: RunDirectory) -> None:
    (run.path / "output.log").unlink()
    (run.path / "output.log").mkdir()


def _grown(run: RunDirectory) -> None:
    data = (run.path / "output.log").read_bytes()
    run.write("output.log", data + b"\n", mode=0o444)


def _empty_receipt(run: RunDirectory) -> None:
    run.write(RECEIPT, final_receipt(run.session_id, []), mode=0o444)


SEAL_FAULTS = (
    Fault("missing artifact", lambda run: (run.path / "output.log").unlink(), "output.log"),
    Fault("missing structured artifact", lambda run: (run.path / "completion.json").unlink(), "completion.json"),
    Fault("changed artifact", _flipped("prompt.md"), "prompt.md"),
    Fault("changed structured artifact", _flipped("completion.json"), "completion.json"),
    Fault("grown artifact", _grown, "output.log"),
    Fault("emptied artifact", lambda run: os.truncate(run.path / "prompt.md", 0), "prompt.md"),
    Fault("link for an artifact", _artifact_as_link, "output.log"),
    Fault("artifact behind a linked directory", _artifact_behind_link, "collections"),
    Fault("directory for an artifact", _artifact_as_directory, "output.log"),
    Fault("FIFO for an artifact", _fifo("output.log"), "output.log"),
    Fault("link for the receipt", _receipt_as_link, RECEIPT, None, "unsafe_source"),
    Fault("receipt its owner may write", lambda run: (run.path / RECEIPT).chmod(0o644), RECEIPT),
    Fault("receipt others may write", lambda run: (run.path / RECEIPT).chmod(0o446), RECEIPT),
    Fault("receipt that is no JSON", lambda run: run.write(RECEIPT, "{sealed", mode=0o444), RECEIPT),
    Fault("empty receipt", lambda run: run.write(RECEIPT, "", mode=0o444), RECEIPT),
    Fault("receipt over nothing", _empty_receipt, RECEIPT),
    Fault("receipt of another session", _receipt(session_id="other-live-run"), RECEIPT),
    Fault("receipt of another contract", _receipt(schema="agent-workflow/heartbeat/v2"), RECEIPT),
    Fault("receipt with a path out of the run", _listing("../sealed-run/prompt.md"), RECEIPT),
    Fault("receipt with a path out of the run and back", _listing("collections/../prompt.md"), RECEIPT),
    Fault("receipt with an absolute path", _listing("/etc/hostname"), RECEIPT),
    Fault("receipt with a path that is not normalised", _listing("./prompt.md"), RECEIPT),
    Fault("receipt with an empty component", _listing("collections//completion.json"), RECEIPT),
    Fault("receipt with an empty path", _listing(""), RECEIPT),
    Fault("receipt with a NUL in a path", _listing("prompt.md\0"), RECEIPT),
    Fault("receipt with entries that disagree", _disagreeing, RECEIPT),
    Fault("receipt without a required artifact", _unlisted("patch.diff"), RECEIPT),
    Fault("receipt without the completion's collection", _unlisted("collections/completion.json"), RECEIPT),
    Fault("receipt without the catalog", _unlisted(CATALOG), RECEIPT),
    Fault("sealed catalog that was not launched with", _sealed_with_another_catalog, CATALOG),
    Fault("sealed card that was not launched with", _sealed_with_another_card, CARD),
)
"""What breaks a seal that was whole."""
