"""One thing that is wrong with a run, and where it can be seen: what the lists of faults are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .evidence_files import RunDirectory, encode
from .evidence_journals import incident_event

Outcome = Literal["error", "notice"]

JOURNAL = "incident-events.jsonl"
DOCUMENT = "process-result.json"
MEBIBYTE = 1024 * 1024


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


def incident_with(field: str, text: bytes) -> Callable[[str], bytes]:
    """Return an incident whose evidence holds a field written exactly like this."""

    def make(session_id: str) -> bytes:
        record = encode(incident_event(session_id, 55, evidence={field: "MARK"})).rstrip(b"\n")
        return record.replace(b'"MARK"', text)

    return make
