"""Permissions in the JSON streams of agents: what they ask a person for, and what was refused them."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from agent_workflow.cli.supervisor._permission_claude import NEEDLES as CLAUDE_NEEDLES
from agent_workflow.cli.supervisor._permission_claude import read_claude
from agent_workflow.cli.supervisor._permission_codex import NEEDLES as CODEX_NEEDLES
from agent_workflow.cli.supervisor._permission_codex import read_codex
from agent_workflow.cli.supervisor._permission_facts import Observation
from agent_workflow.cli.supervisor._permission_others import OPENCODE_NEEDLES, PI_NEEDLES, read_opencode, read_pi
from agent_workflow.cli.supervisor._permission_requests import Record, Requests
from agent_workflow.cli.supervisor.documents import parse


class _Reader(NamedTuple):
    """The bytes of which a record that matters has at least one, and the function that reads such a record."""

    needles: tuple[bytes, ...]
    read: Callable[[Record, Requests], None]


_READERS: Final = {
    "claude": _Reader(CLAUDE_NEEDLES, read_claude),
    "codex": _Reader(CODEX_NEEDLES, read_codex),
    "opencode": _Reader(OPENCODE_NEEDLES, read_opencode),
    "pi": _Reader(PI_NEEDLES, read_pi),
}


def stream(agent: str | None, data: bytes) -> list[Observation]:
    """Find requests, refusals and settled requests in a JSON stream, in its order.

    Args:
        agent: whose stream it is; of one that is not known nothing is guessed.
        data: whole lines; a last line without newline waits.
    """
    reader = _READERS.get(agent or "")
    if reader is None:
        return []
    requests = Requests()
    for position, line in lines(data):
        # While a request is open any record may settle it; else a search for bytes is enough to pass a record by.
        if not requests.are_open and not any(needle in line for needle in reader.needles):
            continue
        try:
            record = parse(line)
        except ValueError:
            continue
        requests.position, requests.line = position, line
        reader.read(record, requests)
    return requests.found


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield every line that has its newline, with its byte offset."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield start, data[start:end]
        start = end + 1
