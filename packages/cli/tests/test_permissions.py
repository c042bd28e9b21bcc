"""Permissions in the JSON streams of agents: asked for, settled, refused, and nothing that only looks so."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from permission_streams import BASH, CASES, WRITE, D, Record, can_use

from agent_workflow.cli.supervisor.permissions import Observation, observe


@pytest.mark.parametrize(("agent", "records", "expected"), CASES.values(), ids=CASES.keys())
def test_a_stream_says_what_is_asked_and_refused(
    agent: str, records: list[Record], expected: list[tuple[str, str, str | None]]
) -> None:
    """State, operation and tool of each, in the order of the stream; another agent's reader finds nothing of it."""
    for separators in ((",", ":"), (", ", ": ")):
        seen = observe("stream", agent, _stream(records, separators))

        assert expected == [(one.state, one.operation, one.target) for one in seen]
    assert [] == observe("stream", None, _stream(records))


@pytest.mark.parametrize(("agent", "records", "expected"), CASES.values(), ids=CASES.keys())
def test_an_observation_holds_no_text_of_the_run(agent: str, records: list[Record], expected: object) -> None:
    """Commands, paths, titles and arguments stay in the stream."""
    told = repr(observe("stream", agent, _stream(records)))

    assert "SECRET" not in told
    assert "/srv" not in told


def test_a_request_keeps_its_digest() -> None:
    """Pending, cleared and denied are told apart by their state; the id of the call is the evidence."""
    agent, records, _ = CASES["claude was told no in other words"]

    seen = observe("stream", agent, _stream(records))

    assert {sha256(b"a").hexdigest()} == {one.evidence_sha256 for one in seen}
    assert ["human_required", "none", "policy_review"] == [one.remediation_class for one in seen]


def test_damage_is_passed_by() -> None:
    """A line that is no JSON, has a key twice, NaN, or is nested without end hides only itself."""
    good = json.dumps(can_use("a", "Bash")).encode()
    bad = [
        b'{"type":"control_request"',
        b'{"type":"control_request","type":"x"}',
        b'{"type":"control_request","x":NaN}',
        b'{"type":"control_request","x":' + b"[" * 200_000,
        b'["control_request"]',
        b'\xff"control_request"',
        b'{"type":"control_request","request":"\xed\xa0\x80"}',
    ]

    (seen,) = observe("stream", "claude", b"\n".join([*bad, good, b""]))

    assert sum(len(line) + 1 for line in bad) == seen.position


def test_a_torn_last_line_waits() -> None:
    """A record without its newline is not read, however whole it looks."""
    data = _stream([can_use("a", "Bash"), can_use("b", "Bash", "s")])

    assert 2 == len(observe("stream", "claude", data))
    assert 1 == len(observe("stream", "claude", data[:-1]))


@given(st.sampled_from(sorted(CASES)), st.integers(0, 10_000))
def test_a_shorter_stream_says_the_beginning_of_the_same(case: str, cut: int) -> None:
    """Reading again when the stream has grown takes nothing back."""
    agent, records, _ = CASES[case]
    data = _stream(records)
    whole = observe("stream", agent, data)

    part = observe("stream", agent, data[: cut % (len(data) + 1)])

    assert whole[: len(part)] == part


@given(st.lists(st.sampled_from(sorted(CASES)), min_size=2, max_size=6, unique=True), st.integers(0, 100))
def test_the_tail_of_a_stream_says_the_end_of_the_same(cases: list[str], cut: int) -> None:
    """Cut where nothing is open, the rest gives the same observations, moved by what was cut off."""
    agent = CASES[cases[0]][0]
    pieces = [_stream(_renamed(records, case)) for case in cases if (records := _of(agent, case))]
    begin = sum(len(piece) for piece in pieces[: cut % len(pieces)])
    data = b"".join(pieces)
    assume(not _is_open(observe("stream", agent, data[:begin])))

    tail = [replace(one, position=one.position + begin) for one in observe("stream", agent, data[begin:])]

    assert [one for one in observe("stream", agent, data) if one.position >= begin] == tail


@given(st.sampled_from(["claude", "codex", "opencode", "pi", "gemini", None]), st.binary(max_size=300))
def test_random_bytes_raise_nothing(agent: str | None, data: bytes) -> None:
    """Whatever a stream holds."""
    for needle in (b"", b'{"control_request":', b'"declined"', b'"tool_execution_end"'):
        assert [] == observe("stream", agent, needle + data + b"\n")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "tool_result", "declined", "select", "error"]),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "id", "content", "request", "subtype", "part"]), inside, max_size=4)
    ),
    max_leaves=12,
)


@given(st.data(), st.sampled_from(sorted(CASES)))
def test_a_record_of_another_shape_raises_nothing(data: st.DataObject, case: str) -> None:
    """A known kind of record whose fields are not what they used to be."""
    agent, records, _ = CASES[case]
    strange = [_strange(record, data) for record in records]

    assert all(isinstance(one, Observation) for one in observe("stream", agent, _stream(strange)))


@pytest.mark.corpus
def test_genuine_streams_say_what_was_denied(genuine_streams: Path) -> None:
    """Denials of the real programs are found; their other streams, with failures and kills, hold none."""
    found = {
        str(path.relative_to(genuine_streams)): [(one.state, one.operation, one.target) for one in seen]
        for path in sorted(genuine_streams.glob("*/*"))
        if path.suffix in (".jsonl", ".stderr")
        and (seen := observe("stderr" if path.suffix == ".stderr" else "stream", path.parent.name, path.read_bytes()))
    }

    claude = [(D, *WRITE), (D, *WRITE), (D, *BASH)]
    codex = [(D, "write", None), (D, "execute", None)]
    assert {
        "claude/denied.jsonl": claude,
        "claude/denied.transcript.jsonl": claude,
        "codex/denied_readonly.rollout.jsonl": codex,
        "codex/denied_readonly.stderr": codex,
        "opencode/denied.jsonl": [(D, "read", "read"), (D, "execute", "bash")],
        "opencode/denied.stderr": [(D, "tool", None), (D, "tool", None)],
    } == found


def _stream(records: list[Record], separators: tuple[str, str] = (",", ":")) -> bytes:
    return b"".join(json.dumps(record, separators=separators).encode() + b"\n" for record in records)


def _strange(value: Any, data: st.DataObject) -> Any:
    """Put something else into one place, however deep."""
    if isinstance(value, list) and value:
        return [_strange(value[0], data), *value[1:]]
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _strange(value[key], data)}
    return data.draw(_VALUES)


def _of(agent: str, case: str) -> list[Record]:
    return CASES[case][1] if CASES[case][0] == agent else []


def _renamed(records: list[Record], case: str) -> list[Record]:
    """Give the calls of a case ids of their own."""
    ids = {"a", "b", "c", "i", "r", "s", "x", "p", "r9", "c0", "c1", "d1"}

    def rename(value: object) -> object:
        if isinstance(value, dict):
            return {key: rename(item) for key, item in value.items()}
        if isinstance(value, list):
            return [rename(item) for item in value]
        return f"{value} of {case}" if value in ids else value

    return [{key: rename(value) for key, value in record.items()} for record in records]


def _is_open(seen: list[Observation]) -> bool:
    newest = {one.evidence_sha256: one.state for one in seen}
    return "pending" in newest.values()
