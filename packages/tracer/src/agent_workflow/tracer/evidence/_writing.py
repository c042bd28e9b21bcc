"""How a record and a document get into a run directory: whole or not at all, and never into a sealed run.

Functions that end in ``_locked`` are for a caller that holds ``run_lock`` of the directory.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._journal import end_of_last_line, is_record
from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer.evidence._errors import EvidenceError, RunIsSealed
from agent_workflow.tracer.evidence._lock import run_lock

RECEIPT: Final = "final-receipt.json"
_PRIVATE: Final = 0o600
_JOURNAL_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_NEW_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
_encode = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def is_sealed(directory: Path) -> bool:
    """Tell whether a run has a receipt; whether that holds is for the index to verify."""
    return os.path.lexists(directory / RECEIPT)


def append_record(directory: Path, journal_name: str, record: Mapping[str, object]) -> None:
    """Append one record to a journal of a run, under the run's lock.

    A torn tail that a killed writer left is moved to ``<name>.torn`` first; a record that does not fit is taken back.

    Args:
        directory: of the run.
        journal_name: such as ``events.jsonl``; made, 0600, where it is missing.
        record: a JSON object.

    Raises:
        FileNotFoundError: there is no such run.
        RunIsSealed: nothing may be appended any more.
        RunIsBusy: somebody else kept the run locked.
        EvidenceError: it is not in the journal, which is as it was before.
        ValueError: the record holds NaN, or what JSON cannot hold.
    """
    with run_lock(directory):
        append_record_locked(directory, journal_name, record)


def append_record_locked(directory: Path, journal_name: str, record: Mapping[str, object]) -> None:
    """Append one record as ``append_record`` does, for a caller that holds the run's lock."""
    line = _encode(record).encode("ascii") + b"\n"
    path = _place(directory, journal_name, ".jsonl")
    try:
        descriptor = _open_journal(path)
        try:
            _append(descriptor, path, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise EvidenceError(f"{path} cannot be written: {error.strerror}", path=path) from error


def append_lifecycle_locked(
    directory: Path, *, dimension: str, prior: str | None, new: str, actor: str, reason: str, at: str, **more: object
) -> None:
    """Append the next ``lifecycle-event/v1`` to ``events.jsonl``, for a caller that holds the run's lock.

    Args:
        directory: of the run.
        dimension: what moved: ``execution``, ``phase:<name>``.
        prior: its state before, if it had one.
        new: its state now.
        actor: who says so.
        reason: why, in words that hold nothing of prompts, replies or arguments.
        at: when, as the trace writes times.
        more: further fields.

    Raises:
        RunIsSealed, EvidenceError: as ``append_record``.
    """
    record = {
        "schema": "agent-workflow/lifecycle-event/v1",
        "sequence": _last_sequence(directory / "events.jsonl") + 1,
        "timestamp": at,
        "dimension": dimension,
        "prior": prior,
        "new": new,
        "actor": actor,
        "reason": reason,
        "receipt_refs": [],
        **more,
    }
    append_record_locked(directory, "events.jsonl", record)


def write_document(directory: Path, name: str, document: Mapping[str, object]) -> None:
    """Put a document into a run, or replace it, under the run's lock; a reader sees the old or the new one.

    Args:
        directory: of the run.
        name: such as ``status.json``; its mode is 0600.
        document: a JSON object.

    Raises:
        FileNotFoundError: there is no such run.
        RunIsSealed: nothing may be written any more.
        RunIsBusy: somebody else kept the run locked.
        EvidenceError: it cannot be written; what was there is still there.
        ValueError: the document holds NaN, or what JSON cannot hold.
    """
    with run_lock(directory):
        write_document_locked(directory, name, document)


def write_document_locked(directory: Path, name: str, document: Mapping[str, object]) -> None:
    """Write a document as ``write_document`` does, for a caller that holds the run's lock."""
    data = encode_document(document)
    path = _place(directory, name, ".json")
    try:
        beside = write_beside(path, data, _PRIVATE)
        beside.replace(path)
    except OSError as error:
        raise EvidenceError(f"{path} cannot be written: {error.strerror}", path=path) from error


def encode_document(document: Mapping[str, object]) -> bytes:
    """Write a document as people read it: sorted, indented, one newline at the end.

    Raises:
        ValueError: it holds NaN, or what JSON cannot hold.
    """
    return json.dumps(document, allow_nan=False, sort_keys=True, indent=2).encode("ascii") + b"\n"


def write_beside(path: Path, data: bytes, mode: int, *, durable: bool = False) -> Path:
    """Write a file under a dot-name, to be renamed; what a killed writer leaves is removed before the seal.

    Args:
        path: what it is to become.
        data: its content.
        mode: of the file, whatever the umask.
        durable: wait until the disk has it.

    Raises:
        OSError: it cannot be written, and is removed again.
    """
    # A name that ends in .json would be taken for a source by whoever reads the directory now.
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(beside, _NEW_FLAGS, _PRIVATE)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fchmod(descriptor, mode)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    return beside


def read_document(path: Path) -> dict[str, Any] | None:
    """Read a JSON object of ours; ``None`` where it is missing or damaged."""
    try:
        return decode_record(path.read_bytes())
    except (OSError, ValueError):
        return None


def _place(directory: Path, name: str, end: str) -> Path:
    if "/" in name or name.startswith(".") or not name.endswith(end):
        raise ValueError(f"{name!r} names no file of a run that ends in {end}")
    if is_sealed(directory):
        raise RunIsSealed(f"{directory} is sealed", path=directory)
    return directory / name


def _open_journal(path: Path) -> int:
    try:
        return os.open(path, _JOURNAL_FLAGS, _PRIVATE)
    except PermissionError:
        # A sealer that was killed has made it read-only already; without a receipt the run goes on.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.fchmod(descriptor, _PRIVATE)
        finally:
            os.close(descriptor)
        return os.open(path, _JOURNAL_FLAGS, _PRIVATE)


def _append(descriptor: int, path: Path, line: bytes) -> None:
    size = _settle(descriptor, path)
    written = os.write(descriptor, line)
    if written != len(line):
        os.ftruncate(descriptor, size)
        raise EvidenceError(f"{path} cannot be written: no space left for the whole record", path=path)


def _settle(descriptor: int, path: Path) -> int:
    """Mend the end of a journal that a killed writer left torn; return its size."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    whole = end_of_last_line(descriptor, size)
    torn = os.pread(descriptor, size - whole, whole)
    if is_record(torn):
        os.write(descriptor, b"\n")
        return size + 1
    aside = os.open(path.with_name(path.name + ".torn"), _JOURNAL_FLAGS, _PRIVATE)
    try:
        os.write(aside, torn + b"\n")
    finally:
        os.close(aside)
    os.ftruncate(descriptor, whole)
    return whole


def _last_sequence(path: Path) -> int:
    """Return the number of the newest whole record, 0 without one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}", path=path) from error
    try:
        end = os.fstat(descriptor).st_size
        while end > 0:
            if os.pread(descriptor, 1, end - 1) == b"\n":
                end -= 1
            start = end_of_last_line(descriptor, end)
            try:
                found = decode_record(os.pread(descriptor, end - start, start)).get("sequence")
            except ValueError:
                found = None  # a torn tail: the one before it counts
            if isinstance(found, int):
                return found
            end = start
    finally:
        os.close(descriptor)
    return 0
