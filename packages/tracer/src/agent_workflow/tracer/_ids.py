"""Names for sessions, events and rows, made without asking a database: the file is written first."""

import itertools
import re
import secrets
import threading
import time
from typing import Final

VALID_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")

_EPOCH_MS: Final = 1_577_836_800_000  # 2020-01-01; keeps row ids below 2**53, which JavaScript readers need
_RANDOM_BITS: Final = 13

_lock = threading.Lock()
_last_row_id = 0
# Consecutive ids from a random start are as unlikely to meet as random ones, and land on the same index page.
_events = itertools.count(secrets.randbits(48))


def is_valid_id(text: str) -> bool:
    """Tell whether a text may name a session (and therefore a directory)."""
    return VALID_ID.match(text) is not None


def new_adw_id() -> str:
    """Return eight hex digits."""
    return secrets.token_hex(4)


def new_event_id() -> str:
    """Return ``evt_`` and twelve hex digits."""
    return f"evt_{next(_events) & 0xFFFF_FFFF_FFFF:012x}"


def new_envelope_id() -> str:
    """Return ``env_`` and twelve hex digits."""
    return f"env_{secrets.token_hex(6)}"


def new_row_id() -> int:
    """Return an integer key that grows with time and fits into 53 bits.

    Two processes may draw the same one in the same millisecond (1 in 8,192); the writer notices and draws again.
    """
    global _last_row_id  # noqa: PLW0603 - one sequence a process
    with _lock:
        fresh = ((int(time.time() * 1000) - _EPOCH_MS) << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        _last_row_id = max(fresh, _last_row_id + 1)
        return _last_row_id


def reseed() -> None:
    """Start a new sequence of event ids: a forked child must not repeat its parent's."""
    global _events, _lock  # noqa: PLW0603 - one sequence a process
    _events = itertools.count(secrets.randbits(48))
    _lock = threading.Lock()  # a thread that the child does not have may hold the other
