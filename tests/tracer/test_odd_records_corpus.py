"""The streams and session files of the corpus with one value of another kind in them: no reader stumbles over it."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agent_workflow.tracer._json import encode
from agent_workflow.tracer.agents import StreamReader, recognise
from agent_workflow.tracer.agents._claude_stream import ClaudeStream
from agent_workflow.tracer.agents._codex_rollout import Rollout
from agent_workflow.tracer.agents._codex_stream import CodexStream
from agent_workflow.tracer.agents._gemini_stream import GeminiStream
from agent_workflow.tracer.agents._opencode_stream import OpencodeStream
from agent_workflow.tracer.agents._pi_stream import PiStream
from agent_workflow.tracer.importing._formats import reader_for
from agent_workflow.tracer.importing._item_rows import item_row

pytestmark = pytest.mark.corpus

AT: Final = "2026-11-30T00:00:00.000+00:00"
ODD: Final = (None, ["list"], {"object": 1})
READERS: Final[dict[str, Callable[[], StreamReader]]] = {
    "claude": ClaudeStream,
    "codex": CodexStream,
    "gemini": GeminiStream,
    "opencode": OpencodeStream,
    "pi": lambda: PiStream(knows_prices=True),
}
LARGEST: Final = 60_000

Place = tuple[str | int, ...]


@pytest.mark.parametrize("agent", READERS)
def test_odd_value_in_a_stream(streams: Path, agent: str) -> None:
    """A stream is read on, and summed up, whatever stands in place of one of its values."""
    read = 0
    for records in odd_records(sorted((streams / agent).glob("*.jsonl")), is_own=False):
        reader = READERS[agent]()
        for record in records:
            line = json.dumps(record).encode()
            recognise(line)
            encode([str(seen) for seen in reader.read(line, AT)])
        list(reader.complete())
        encode(reader.outcome(0, AT).usage.payload())
        read += 1

    assert read > 100


@pytest.mark.parametrize("agent", [agent for agent in READERS if agent != "opencode"])
def test_odd_value_in_a_session_file(streams: Path, agent: str) -> None:
    """So is a session file, where its beginning still says whose it is."""
    read = 0
    for records in odd_records(sorted((streams / agent).glob("*.*.jsonl")), is_own=True):
        reader = reader_for(Path("session.jsonl"), b"\n".join(json.dumps(record).encode() for record in records))
        if reader is not None:
            items = [item for number, record in enumerate(records, 1) for item in reader.read(record, number)]
            for item in (*items, *reader.unsettled()):
                item_row(1, 1, item, encode)
            encode(reader.dump())
            read += 1
        if agent == "codex":
            Rollout(Path("rollout.jsonl"), records)

    assert read > 100


def odd_records(files: list[Path], *, is_own: bool) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of small files with one value replaced, each place once, up to a few records behind it."""
    known: set[tuple[object, ...]] = set()
    for file in files:
        if ("." in file.stem) != is_own or file.stat().st_size > LARGEST:
            continue
        records = [record for line in file.read_bytes().split(b"\n") if (record := decoded(line)) is not None]
        for number, record in enumerate(records):
            for place in places(record):
                key = (kind_of(record), *(part if isinstance(part, str) else "*" for part in place))
                if key in known:
                    continue
                known.add(key)
                for odd in ODD:
                    before, after = records[max(0, number - 4) : number], records[number + 1 : number + 3]
                    yield [*before, replaced(record, place, odd), *after]


def decoded(line: bytes) -> dict[str, Any] | None:
    """Read a line; the last may be cut."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def kind_of(record: dict[str, Any]) -> tuple[object, ...]:
    """Name what tells one shape of a record from another."""
    inner = [record.get(name) for name in ("payload", "item", "message", "part", "event")]
    return record.get("type"), *(one.get("type") for one in inner if isinstance(one, dict))


def places(value: object, above: Place = ()) -> Iterator[Place]:
    """Name every value inside a record by the way to it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield (*above, name)
        yield from places(item, (*above, name))


def replaced(record: dict[str, Any], place: Place, value: object) -> dict[str, Any]:
    """Return a copy with another value in one place."""
    changed = copy.deepcopy(record)
    inner: Any = changed
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return changed
