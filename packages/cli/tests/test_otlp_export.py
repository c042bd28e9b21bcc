"""``agent-workflow export otlp``: files and a receiver, read back with the protocol's own messages."""

import base64
import contextlib
import gzip
import json
import socket
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from recorded_traces import Receiver, Reply, TraceWriter, at, fill

pytest.importorskip("opentelemetry.proto", reason="OTLP is an extra")

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from agent_workflow.cli._failure import CommandFailed
from agent_workflow.cli.otlp.encoding import MOST_SPANS, requests
from agent_workflow.cli.otlp.receiver import Receiver as Address
from agent_workflow.cli.otlp.sending import Endpoint
from agent_workflow.cli.otlp.span import Span

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytestmark = pytest.mark.slow

_IDS = ("traceId", "spanId", "parentSpanId")
Listen = Callable[..., Receiver]


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[TraceWriter]:
    """A trace database with one session."""
    writer = TraceWriter(tmp_path / "traced" / "sssf.db")
    fill(writer)
    yield writer
    writer.connection.close()


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Start receivers that answer by a script."""
    started: list[Receiver] = []

    def start(*script: Reply) -> Receiver:
        started.append(Receiver(*script))
        return started[-1]

    yield start
    for receiver in started:
        receiver.close()


def address(receiver: Receiver) -> Address:
    """Return where a receiver takes traces."""
    return Address(f"{receiver.url}/v1/traces")


def read_line(line: str) -> Any:
    """Read OTLP/JSON with the protocol's own parser, which takes bytes in base64."""
    document = json.loads(line)
    for span in (s for r in document["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]):
        for name in _IDS:
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest())


def spans_of(*messages: Any) -> list[Any]:
    """Return all spans of requests."""
    return [span for m in messages for r in m.resource_spans for scope in r.scope_spans for span in scope.spans]


def some_spans(count: int, text: str = "") -> list[Span]:
    """Return so many plain spans."""
    return [Span(f"s{number}", None, "span", "internal", 1, 2, {"text": text}) for number in range(count)]


def test_files_are_read_back_with_the_protocols_own_parser(
    trace: TraceWriter, cli: "CommandLine", tmp_path: Path
) -> None:
    """One file for the trace, ids of the right length, one root, every parent there, service and host named."""
    answer = cli.run("export", "otlp", "--db", str(trace.path), "--to", str(tmp_path / "out"), "--json")

    (file,) = (tmp_path / "out").iterdir()
    (message,) = map(read_line, file.read_text().splitlines())
    spans = spans_of(message)
    ids = {span.span_id for span in spans}
    resource = {pair.key: pair.value for pair in message.resource_spans[0].resource.attributes}
    assert (0, file.stem) == (answer.code, answer.document["sessions"][0]["trace_id"])
    assert {(16, 8)} == {(len(span.trace_id), len(span.span_id)) for span in spans}
    assert [b""] == [span.parent_span_id for span in spans if span.parent_span_id not in ids]
    assert len(spans) == len(ids) == answer.document["spans"]
    assert "agent-workflow" == resource["service.name"].string_value
    assert 32 == len(resource["host.id"].string_value)


def test_exporting_again_writes_the_same_bytes(trace: TraceWriter, cli: "CommandLine", tmp_path: Path) -> None:
    """And leaves nothing beside them."""
    found = []
    for _ in range(2):
        assert 0 == cli.run("export", "otlp", "--db", str(trace.path), "--to", str(tmp_path / "out")).code
        found.append({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()})

    assert found[0] == found[1]
    assert 1 == len(found[0])


@pytest.mark.parametrize("protocol", ["protobuf", "json"])
def test_a_receiver_gets_the_same_as_the_file(
    protocol: str, trace: TraceWriter, listen: Listen, cli: "CommandLine", tmp_path: Path
) -> None:
    """At the usual path, in the encoding that was asked for, with the headers of the environment."""
    receiver = listen()
    cli.run("export", "otlp", "--db", str(trace.path), "--to", str(tmp_path / "out"))
    call = ("export", "otlp", "--db", str(trace.path), "--endpoint", receiver.url, "--protocol", protocol)

    answer = cli.run(*call, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20abc,x-team=shop")

    (received,) = receiver.received
    (file,) = (tmp_path / "out").iterdir()
    if protocol == "protobuf":
        sent = ExportTraceServiceRequest.FromString(received.body)
    else:
        sent = read_line(received.body.decode())
    assert (0, "") == (answer.code, answer.err)
    assert read_line(file.read_text()) == sent
    assert ("/v1/traces", "Bearer abc", "shop") == (
        received.path,
        received.headers["Authorization"],
        received.headers["X-Team"],
    )


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_receiver_is_asked_again_when_it_says(status: int, listen: Listen) -> None:
    """After as many seconds as it names; without that, each pause is twice the last."""
    receiver = listen(Reply(status, headers={"Retry-After": "7"}), Reply(status), Reply())
    pauses: list[float] = []
    (request,) = requests(b"t" * 16, some_spans(1), {}, "1")

    Endpoint(address(receiver), pause=pauses.append).send(request)

    assert [7.0, 2.0] == pauses
    assert 3 == len(receiver.received)


def test_a_receiver_that_stays_busy_ends_it(trace: TraceWriter, listen: Listen, cli: "CommandLine") -> None:
    """After some tries, with what had arrived, and the next step."""
    receiver = listen(Reply(503, headers={"Retry-After": "0"}))

    answer = cli.run("export", "otlp", "--db", str(trace.path), "--endpoint", receiver.url)

    assert (1, 5) == (answer.code, len(receiver.received))
    assert "HTTP 503" in answer.err
    assert "0 of 1 sessions had arrived" in answer.err


@pytest.mark.parametrize("reply", [Reply(401), Reply(404), Reply(302, headers={"Location": "/elsewhere"})])
def test_a_refusal_is_not_tried_again(reply: Reply, listen: Listen) -> None:
    """Nor is a redirect followed: headers may hold a secret that is meant for this receiver."""
    receiver = listen(reply)
    pauses: list[float] = []
    (request,) = requests(b"t" * 16, some_spans(1), {}, "1")

    with pytest.raises(CommandFailed, match=f"HTTP {reply.status}"):
        Endpoint(address(receiver), pause=pauses.append).send(request)

    assert (1, []) == (len(receiver.received), pauses)


@pytest.mark.parametrize("status", [400, 413])
def test_a_request_that_is_at_fault_stops_no_other(
    status: int, trace: TraceWriter, listen: Listen, cli: "CommandLine"
) -> None:
    """Its spans count as refused, in the receiver's words; what comes behind it is sent."""
    trace.session("later", started_at=at(50))
    receiver = listen(Reply(status, b"no such\x1b[31m model", {"Content-Type": "text/plain"}), Reply())

    answer = cli.run("export", "otlp", "--db", str(trace.path), "--endpoint", receiver.url, "--json")

    first, later = answer.document["sessions"]
    assert (1, 2) == (answer.code, len(receiver.received))
    assert (first["spans"], 0) == (first["rejected"], later["rejected"])
    assert f"HTTP {status}" in answer.document["messages"][0]
    assert "no such" in answer.document["messages"][0]
    assert "\x1b" not in answer.err


def test_nobody_listens() -> None:
    """A refused connection is tried again, then told; the port is held, so that nobody else comes to listen."""
    (request,) = requests(b"t" * 16, some_spans(1), {}, "1")
    pauses: list[float] = []

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        endpoint = Endpoint(Address(f"http://127.0.0.1:{held.getsockname()[1]}"), pause=pauses.append)
        with pytest.raises(CommandFailed, match="after 5 tries"):
            endpoint.send(request)

    assert [1.0, 2.0, 4.0, 8.0] == pauses


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_partial_success_is_told(encoding: str, trace: TraceWriter, listen: Listen, cli: "CommandLine") -> None:
    """With the receiver's words, and it is no success."""
    response = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=2, error_message="too old")
    )
    body, kind = (
        (response.SerializeToString(), "application/x-protobuf")
        if encoding == "protobuf"
        else (json_format.MessageToJson(response).encode(), "application/json")
    )
    receiver = listen(Reply(200, body, {"Content-Type": kind}))

    answer = cli.run("export", "otlp", "--db", str(trace.path), "--endpoint", receiver.url, "--json")

    assert (1, 2, ["too old"]) == (answer.code, answer.document["rejected"], answer.document["messages"])
    assert "the receiver says: too old" in answer.err


@pytest.mark.parametrize("body", [b"\xff" * 9, b"not a message"])
def test_an_answer_that_cannot_be_read_is_told(body: bytes, listen: Listen) -> None:
    """The status says that the spans were taken; a page of another server says that, too."""
    receiver = listen(Reply(200, body))
    (request,) = requests(b"t" * 16, some_spans(1), {}, "1")

    accepted = Endpoint(address(receiver)).send(request)

    assert (0, True) == (accepted.rejected, "none of OTLP" in accepted.message)


def test_requests_are_bounded() -> None:
    """In spans and in bytes; a large span goes by itself, and none is lost or doubled."""
    many = list(requests(b"t" * 16, some_spans(2 * MOST_SPANS + 1), {}, "1"))
    large = list(requests(b"t" * 16, some_spans(3, "x" * 1_500_000), {}, "1"))

    assert [MOST_SPANS, MOST_SPANS, 1] == [len(spans_of(message)) for message in many]
    assert [1, 1, 1] == [len(spans_of(message)) for message in large]
    assert 2 * MOST_SPANS + 1 == len({span.span_id for span in spans_of(*many)})


def test_an_old_database_is_exported(cli: "CommandLine", tmp_path: Path) -> None:
    """Tables and columns that came later are missing there."""
    with contextlib.closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        connection.executescript(
            "CREATE TABLE sessions (adw_id TEXT PRIMARY KEY, request, status TEXT, started_at TEXT, ended_at TEXT);"
            "CREATE TABLE phases (phase_id TEXT PRIMARY KEY, adw_id TEXT, seq INTEGER, name TEXT, status TEXT);"
            f"INSERT INTO sessions VALUES ('old', 'PLANTED', 'stopped', '{at(0)}', '{at(5)}');"
            "INSERT INTO phases VALUES ('old_01_build', 'old', 1, 'build', 'success');"
        )

    answer = cli.run("export", "otlp", "--db", str(tmp_path / "old.db"), "--to", str(tmp_path / "out"))

    (file,) = (tmp_path / "out").iterdir()
    assert (0, "") == (answer.code, answer.err)
    assert ["invoke_agent workflow", "phase build"] == [span.name for span in spans_of(read_line(file.read_text()))]


def test_odd_values_can_be_encoded() -> None:
    """Lone surrogates and integers beyond 64 bits."""
    odd = Span("k", None, "\udcff", "client", 1, 2, {"text": "\ud83d", "large": 2**70, "list": ("\udc00",)})

    (message,) = requests(b"t" * 16, [odd], {}, "1")

    (span,) = spans_of(ExportTraceServiceRequest.FromString(message.SerializeToString()))
    assert ("?", str(2**70)) == (span.name, {a.key: a.value for a in span.attributes}["large"].string_value)


def test_sessions_are_chosen_by_id_or_time(trace: TraceWriter, cli: "CommandLine", tmp_path: Path) -> None:
    """All that are not archived without either; archived ones when they are named."""
    trace.session("older", started_at=at(-90_000))
    trace.session("away", archived=1)

    def exported(*arguments: str) -> list[str]:
        answer = cli.run("export", "otlp", *arguments, "--db", str(trace.path), "--to", str(tmp_path / "out"), "--json")
        assert answer.code == 0, answer.err
        return [session["adw_id"] for session in answer.document["sessions"]]

    assert ["older", "aaaa0001"] == exported()
    assert ["aaaa0001"] == exported("--since", at(-1))
    assert ["away", "older"] == exported("away", "older", "away")


def test_what_a_running_session_keeps_back_is_told(trace: TraceWriter, cli: "CommandLine", tmp_path: Path) -> None:
    """Its tool and its phase are over; the agent, its send and the session are not."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    trace.session("live", status="running", started_at=now, ended_at=None)
    phase = trace.phase(1, "build", "live")
    builder = trace.agent("builder", phase, "", adw_id="live", started_at=now)
    trace.tool("bash", phase, builder, adw_id="live", started_at=now, ended_at=now)

    answer = cli.run("export", "otlp", "live", "--db", str(trace.path), "--to", str(tmp_path / "out"))

    (file,) = (tmp_path / "out").iterdir()
    assert ["phase build", "execute_tool bash"] == [span.name for span in spans_of(read_line(file.read_text()))]
    assert (0, "3 spans without an end held back") == (answer.code, answer.lines[1].split(";")[0])


def test_content_is_redacted_once_more(trace: TraceWriter, cli: "CommandLine", tmp_path: Path) -> None:
    """Traces of other writers never were; nothing of it is there without --content."""
    trace.tool("bash", "", "", payload={"args": {"command": "curl -H tok-4711-secret"}})
    call = ("export", "otlp", "--db", str(trace.path), "--to", str(tmp_path / "out"))

    cli.run(*call, SHOP_TOKEN="tok-4711-secret")
    (file,) = (tmp_path / "out").iterdir()
    without = file.read_text()
    cli.run(*call, "--content", SHOP_TOKEN="tok-4711-secret")
    content = file.read_text()

    assert "PLANTED" not in without
    assert "curl -H [redacted:SHOP_TOKEN]" in content
    assert "tok-4711" not in content


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "either --endpoint or --to"),
        (("--to", "x", "--endpoint", "http://h"), 2, "either --endpoint or --to"),
        (("--endpoint", "ftp://h"), 2, "no address of a receiver"),
        (("--endpoint", "http://[h"), 2, "no address of a receiver"),
        (("--endpoint", "http://h:many"), 2, "no address of a receiver"),
        (("--endpoint", "http://me:word@h"), 2, "the address holds a password"),
        (("--endpoint", "http://me:word@h:many"), 2, "the address holds a password"),
        (("--to", "x", "--since", "soon"), 2, "is no time"),
        (("--to", "x", "--since", "1d", "aaaa0001"), 2, "--since has no meaning"),
        (("--to", "x", "nobody"), 1, "no session nobody"),
        (("--to", __file__), 2, "is no directory"),
        (("--to", "x", "--db", "nothing.db"), 1, "no trace database"),
    ],
)
def test_a_wrong_call_is_one_line(
    arguments: tuple[str, ...], code: int, words: str, trace: TraceWriter, cli: "CommandLine"
) -> None:
    """With the exit code of its kind."""
    named = () if "--db" in arguments else ("--db", str(trace.path))

    answer = cli.run("export", "otlp", *arguments, *named)

    assert (code, 1) == (answer.code, len(answer.err.splitlines()))
    assert words in answer.err


def test_the_environment_names_a_receiver(trace: TraceWriter, listen: Listen, cli: "CommandLine") -> None:
    """As other exporters read it: the usual path behind the address for every signal, gzip; no proxy on loopback."""
    receiver = listen()

    answer = cli.run(
        "export", "otlp", "--db", str(trace.path), "--json",
        OTEL_EXPORTER_OTLP_ENDPOINT=f"{receiver.url}/base/", OTEL_EXPORTER_OTLP_COMPRESSION="gzip",
        http_proxy="http://127.0.0.1:9",
    )  # fmt: skip

    (received,) = receiver.received
    sent = ExportTraceServiceRequest.FromString(gzip.decompress(received.body))
    assert (0, f"{receiver.url}/base/v1/traces") == (answer.code, answer.document["destination"])
    assert ("/base/v1/traces", "gzip") == (received.path, received.headers["Content-Encoding"])
    assert len(spans_of(sent)) == answer.document["spans"]
