"""Everything that may be wrong with a record or its contract, each fault named for itself."""

import os
import stat
from collections.abc import Callable

from .evidence_documents import execution_metrics, metrics_stage, process_result
from .evidence_files import RunDirectory, encode
from .evidence_journals import health_sample, incident_event
from .fault import DOCUMENT, JOURNAL, MEBIBYTE, Fault, incident_with

NESTING = 100_000


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
    _line("NaN", incident_with("score", b"NaN")),
    _line("Infinity", incident_with("score", b"Infinity")),
    _line("-Infinity", incident_with("score", b"-Infinity")),
    _line("NaN as a measurement", _health(seconds_since_semantic_progress=float("nan")), _HEALTH),
    _line(
        "1e999 as a measurement",
        lambda run: _health(seconds_since_semantic_progress=1)(run).replace(
            b'"seconds_since_semantic_progress": 1', b'"seconds_since_semantic_progress": 1e999'
        ),
        _HEALTH,
    ),
    _line("2^63 as a measurement", _health(output_bytes=2**63), _HEALTH),
    _line("integer of 5,000 digits", incident_with("count", b"9" * 5000)),
    _line("duplicate key", _incident(_SEVERITY, _SEVERITY + b', "severity": "high"')),
    _line("duplicate key, equal values", _incident(_SEVERITY, _SEVERITY + b", " + _SEVERITY)),
    _line("duplicate key, space before the colon", _incident(_SEVERITY, _SEVERITY + b', "severity" : "high"')),
    _line("duplicate key, tab before the colon", _incident(_SEVERITY, _SEVERITY + b', "severity"\t: "high"')),
    _line("duplicate key, nested", incident_with("inner", b'{"a": 1, "b": {"c": [{"d": 1, "d": 2}]}}')),
    _line("duplicate key, spelled with an escape", incident_with("inner", b'{"a": 1, "\\u0061": 2}')),
    _line("duplicate key, with a colon inside it", incident_with("inner", b'{"a\\":": 1, "a\\":": 2}')),
    _line("duplicate key in a health sample", lambda run: _health()(run)[:-1] + b', "output_bytes": 7}', _HEALTH),
    _line(
        "duplicate key in a health sample, space before the colon",
        lambda run: _health()(run)[:-1] + b', "output_bytes" : 7}',
        _HEALTH,
    ),
    _line("lone high surrogate", incident_with("text", b'"\\ud83d"')),
    _line("lone low surrogate", incident_with("text", b'"\\udcb2"')),
    _line("surrogates in the wrong order", incident_with("text", b'"\\ude00\\ud83d"')),
    _line("lone surrogate in a key", incident_with("inner", b'{"\\ud83d": 1}')),
    _line("invalid UTF-8", incident_with("text", b'"\xff\xfe"')),
    _line("half of a character", incident_with("text", b'"\xe2\x80"')),
    _line("surrogate encoded as UTF-8", incident_with("text", b'"\xed\xa0\xbd"')),
    _line("overlong UTF-8", incident_with("text", b'"\xc0\xaf"')),
    _line("NUL in a string", incident_with("text", b'"a\x00b"')),
    _line("NUL behind the record", lambda run: encode(incident_event(run, 55)).rstrip(b"\n") + b"\x00"),
    Fault("hole of NULs in a journal", _hole_of_zeros, JOURNAL, 2, "run_index_failed"),
    Fault("byte order mark before a journal", _journal_with_mark, JOURNAL, 1, "run_index_failed"),
    _line(f"{NESTING} arrays deep", incident_with("deep", b"[" * NESTING + b"]" * NESTING)),
    _line(f"{NESTING} objects deep", incident_with("deep", b'{"a":' * NESTING + b"1" + b"}" * NESTING)),
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
