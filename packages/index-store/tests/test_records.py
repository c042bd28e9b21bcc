"""Strict JSON and contracts, one record at a time."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_playground import permission_record, status_document

from agent_workflow.evidence_schemas import PermissionEvent, SessionStatus
from agent_workflow.index_store.errors import HistoricalArtifact, InvalidRecord
from agent_workflow.index_store.records import MAXIMUM_RECORD_BYTES, RecordReader, count_keys, parse_json

READER = RecordReader()
PERMISSIONS = "permission-events.jsonl"

BAD_JSON = {
    "no JSON": b"{no json}",
    "NaN": b'{"a": NaN}',
    "minus infinity": b'{"a": -Infinity}',
    "repeated key": b'{"a": 1, "a": 1}',
    "repeated key, space before the colon": b'{"a" :1,"a":2}',
    "repeated key, tab before the colon": b'{"a":1,"a"\t:2}',
    "repeated key, balanced by a text that looks like one": b'{"a" :1,"a" :2,"b":"x\\":"}',
    "repeated key, one of them escaped": b'{"a":1,"\\u0061":2}',
    "repeated key, deep down": b'[{"x":[{"a":1,"b":{"c":1,"c":2}}]}]',
    "lone surrogate": b'{"a": "\\ud83d"}',
    "lone low surrogate": b'{"a": "\\udcb2"}',
    "encoded surrogate": b'{"a": "\xed\xa0\x80"}',
    "no UTF-8": b'{"a": "\xff"}',
    "half a character": b'{"a": "\xe2\x80"}',
    "NUL bytes": b"\x00\x00\x00",
    "NUL behind the record": b'{"a": 1}\x00',
    "byte order mark": b"\xef\xbb\xbf{}",
    "welded records": b'{"a": 1}{"a": 2}',
    "control character in a string": b'{"a": "\x01"}',
    "depth": b"[" * 100_000,
    "closed depth": b"[" * 5_000 + b"]" * 5_000,
    "number of 5,000 digits": b'{"a": ' + b"9" * 5_000 + b"}",
    "leading zero": b'{"a": 01}',
    "empty": b"",
    "blanks": b" \t ",
    "many values": b"[" + b"[]," * 500_000 + b"[]]",
    "length": b'"' + b"x" * MAXIMUM_RECORD_BYTES + b'"',
}


@pytest.mark.parametrize("raw", BAD_JSON.values(), ids=BAD_JSON)
def test_what_two_readers_could_disagree_on_is_refused(raw: bytes) -> None:
    """The error names the place, and quotes nothing."""
    with pytest.raises(InvalidRecord) as caught:
        READER.parse(raw, "x.jsonl", 7)

    assert caught.value.detail.startswith("x.jsonl:7: ")


GOOD_JSON = {
    "text that looks like a key": b'{"a": "\\":\\":", "b": " :"}',
    "a string that begins with a colon": b'{"a": ":b", "c": [":", {"d": ":"}]}',
    "white space before the colon": b'{"a" : 1, "b"\t:\t2}',
    "many lines": b'{\n  "a":\n 1,\n  "b" :\r\n 2\n}',
    "a key that ends in a backslash": b'{"a\\\\": 1, "b\\"": 2}',
    "line separators": '{"a": "\u2028\u2029\u0085"}'.encode(),
    "an escaped pair": b'{"a": "\\ud83d\\ude00"}',
    "the same key in two objects": b'[{"a": 1}, {"a": 2}]',
}


@pytest.mark.parametrize("raw", GOOD_JSON.values(), ids=GOOD_JSON)
def test_unusual_but_honest_json_is_read(raw: bytes) -> None:
    """What is unusual takes the slow way and comes out as the standard library reads it."""
    expected = json.loads(raw)

    assert expected == parse_json(raw, "x.json", None)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('":\\ a', max_size=4), inner, max_size=4),
    max_leaves=20,
)
separators = st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : "), ("\t,", "\t:")])


@given(values, separators, st.booleans())
def test_honest_json_is_never_taken_for_a_repeated_key(value: object, marks: tuple[str, str], ascii_only: bool) -> None:
    """Whatever quotes, colons and backslashes stand in keys and texts."""
    raw = json.dumps(value, separators=marks, ensure_ascii=ascii_only).encode()

    assert value == parse_json(raw, "x.json", None)


@given(st.dictionaries(st.text('":\\ a\t', max_size=3), values, min_size=1, max_size=4), separators, st.data())
def test_a_repeated_key_is_always_found(value: dict[str, object], marks: tuple[str, str], data: st.DataObject) -> None:
    """One key is written a second time, anywhere in the object."""
    repeated = data.draw(st.sampled_from(sorted(value)))
    pairs = [json.dumps(key) + marks[1] + json.dumps(inner, separators=marks) for key, inner in value.items()]
    pairs.insert(data.draw(st.integers(0, len(pairs))), json.dumps(repeated) + marks[1] + '":"')
    raw = ("{" + marks[0].join(pairs) + "}").encode()

    with pytest.raises(InvalidRecord, match="same key twice"):
        parse_json(raw, "x.json", None)


def test_keys_are_counted_at_every_depth() -> None:
    """Objects in arrays in objects count as well."""
    assert count_keys({"a": [{"b": 1}, [{"c": {"d": 2}}]], "e": "f"}) == 5


def test_quick_way_and_slow_way_give_the_same_record() -> None:
    """A journal of a known name is parsed and validated in one pass, with the same result."""
    raw = permission_record(1)[:-1]

    (quick,) = READER.quick_parser(PERMISSIONS)(raw + b"\n", [raw])

    assert isinstance(quick, PermissionEvent)
    assert READER.parse(raw, PERMISSIONS, 1).model == quick


@pytest.mark.parametrize(
    "doubtful",
    [
        permission_record(1)[:-1].replace(b'"state":', b'"state" :', 1),
        permission_record(1)[:-1].replace(b'"state":', b'"state"\t:', 1),
        permission_record(1)[:-1].replace(b'"target 1"', b'"looks like \\":"'),
        permission_record(1)[:-2] + b', "state": "denied"}',
        permission_record(1)[:-2] + b', "state" : "denied"}',
        b'{"schema":"agent-workflow/permission-event/v9"}',
        b"{no json}",
        b"",
    ],
    ids=[
        "space",
        "tab",
        "text like a key",
        "repeated",
        "repeated behind a space",
        "another contract",
        "no JSON",
        "empty",
    ],
)
def test_quick_way_leaves_every_doubt_to_the_slow_way(doubtful: bytes) -> None:
    """None means: parse it properly. A line of which nothing is to be doubted is not held up by its neighbour."""
    good = permission_record(2)[:-1]
    lines = [good, doubtful, good]

    before, quick, after = READER.quick_parser(PERMISSIONS)(b"\n".join(lines) + b"\n", lines)

    assert quick is None
    assert isinstance(before, PermissionEvent)
    assert before == after


def test_a_repeated_key_is_not_hidden_by_a_line_that_has_fewer() -> None:
    """Lines are counted together: one that writes a key twice and one behind whose keys a space stands even out."""
    twice = permission_record(1)[:-2] + b', "state": "denied"}'
    spaced = permission_record(2)[:-1].replace(b'"state":', b'"state" :', 1)
    lines = [twice, spaced]

    assert READER.quick_parser(PERMISSIONS)(b"\n".join(lines) + b"\n", lines) == [None, None]


def test_known_contract_is_validated() -> None:
    """A valid document comes out as its model."""
    record = READER.parse(status_document("alpha"), "status.json", None)

    assert isinstance(record.model, SessionStatus)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ((b'"running"', b'"asleep"'), "status: expected"),
        ((b'"running"', b"true"), "status: expected"),
        ((b'"workdir": "/srv/work", ', b""), "workdir: is required"),
    ],
)
def test_broken_contract_names_the_field(change: tuple[bytes, bytes], fault: str) -> None:
    """The reason says which field and what was expected, not what was found."""
    with pytest.raises(InvalidRecord) as caught:
        READER.parse(status_document("alpha").replace(*change), "status.json", None)

    assert fault in caught.value.reason
    assert "asleep" not in caught.value.reason


def test_contract_of_a_newer_writer_is_no_error() -> None:
    """It comes out with a contract that is unknown and no model."""
    record = READER.parse(b'{"schema":"agent-workflow/novelty/v1","x":1}', "novelty.json", None)

    assert record.contract is not None
    assert (record.contract.status, record.model) == ("unknown", None)


def test_record_of_somebody_else_has_no_contract() -> None:
    """Only our own namespace is judged."""
    record = READER.parse(b'{"schema":"tax-machine/completion/v0"}', "result.json", None)

    assert (record.contract, record.model) == (None, None)


def test_retired_contract_is_a_historical_artifact() -> None:
    """Its run is kept and excluded."""
    with pytest.raises(HistoricalArtifact):
        READER.parse(b'{"schema":"agent-workflow/execution-metrics/retired-v1"}', "execution-metrics.json", None)


def test_schema_that_is_no_contract_id_is_refused() -> None:
    """Free text after our namespace never gets into the database."""
    with pytest.raises(InvalidRecord, match="no contract id"):
        READER.parse(b'{"schema":"agent-workflow/please call me"}', "x.json", None)
