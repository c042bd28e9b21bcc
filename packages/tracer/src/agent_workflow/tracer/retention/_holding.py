"""Holding a session so that no writer can be at work in it, for as long as it takes to look and to stage it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from agent_workflow.tracer._files import SessionFiles

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_HELD_BY_WRITERS = ("events.jsonl", "state.jsonl", ".lock")


class SessionIsHeld(Exception):
    """A writer is at work in the session, or its directory is none."""


@contextlib.contextmanager
def held(files: SessionFiles) -> Iterator[int]:
    """Give the descriptor of a session's directory, with the locks that its writers would need.

    A writer holds a shared lock on both journals for as long as it lives, and the lock file while it decides something
    for the whole session.

    Raises:
        FileNotFoundError: there is no directory.
        SessionIsHeld: it is a link, or somebody holds a journal.
    """
    with contextlib.ExitStack() as stack:
        try:
            directory = os.open(files.directory, _FLAGS)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SessionIsHeld(f"its directory cannot be opened: {error.strerror}") from error
        stack.callback(os.close, directory)
        for name in _HELD_BY_WRITERS:
            try:
                descriptor = os.open(name, _FILE_FLAGS, dir_fd=directory)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise SessionIsHeld(f"{name} cannot be opened: {error.strerror}") from error
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise SessionIsHeld("a writer has it open") from error
        yield directory
