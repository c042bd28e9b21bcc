"""Small durable writes through directory descriptors: a document that appears whole."""

import contextlib
import json
import os
from collections.abc import Mapping

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def encoded(document: Mapping[str, object]) -> bytes:
    """Write a document as its one line with the newline."""
    return json.dumps(document, sort_keys=True, allow_nan=False).encode("ascii") + b"\n"


def write_new_document(directory: int, name: str, document: Mapping[str, object], mode: int) -> None:
    """Write a document that is not there yet; it appears whole or not at all.

    Raises:
        FileExistsError: there is one.
        OSError: it cannot be written; nothing is left.
    """
    beside = f".{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=directory)  # of somebody who was killed here; the caller holds the directory
    descriptor = os.open(beside, _NEW_FILE, 0o600, dir_fd=directory)
    try:
        data = encoded(document)
        if os.write(descriptor, data) != len(data):
            raise OSError("no space left for the whole document")
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        os.link(beside, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)  # refuses to replace
    finally:
        os.close(descriptor)
        os.unlink(beside, dir_fd=directory)
    os.fsync(directory)
