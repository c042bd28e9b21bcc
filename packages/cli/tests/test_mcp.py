"""``agent-workflow mcp`` asked by the protocol's own client, in memory and over standard input and output."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from invented_runs import DONE, FAILED
from transitions import write_transitions

pytest.importorskip("mcp", reason="the MCP server is an extra")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from agent_workflow import index_store
from agent_workflow.cli.mcp.paging import LARGEST_PAGE, decode_cursor, question_digest
from agent_workflow.cli.mcp.questions import Summary
from agent_workflow.cli.mcp.server import build_server
from agent_workflow.index_store import KINDS

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytestmark = pytest.mark.slow

MANY = "many-transitions"
PROGRAM = str(Path(sys.executable).with_name("agent-workflow"))
TOOLS = ["index_status", "query_index", "summarize_runs", "run_details", "workflow_edges"]
Session = Callable[[Client], Awaitable[Any]]


def in_memory(state_root: Path, session: Session) -> Any:
    """Talk to a server in this process."""

    async def talk() -> Any:
        async with Client(build_server(state_root)) as client:
            return await session(client)

    return anyio.run(talk)


def over_stdio(state_root: Path, session: Session, log: Path) -> Any:
    """Talk to the installed command; its standard error goes to a file."""

    async def talk() -> Any:
        server = StdioServerParameters(command=PROGRAM, args=["mcp", "--state-root", str(state_root)])
        with log.open("w") as errors:
            async with Client(stdio_client(server, errlog=errors)) as client:
                return await session(client)

    return anyio.run(talk)


def call(state_root: Path, tool: str, **arguments: Any) -> Any:
    """Call one tool in memory and return its structured answer, which must be no error."""

    async def session(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    answer = in_memory(state_root, session)
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


def fault(state_root: Path, tool: str, **arguments: Any) -> Any:
    """Call one tool in memory and return its structured error."""

    async def session(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    answer = in_memory(state_root, session)
    assert answer.is_error
    return answer.structured_content["error"]


async def everything(client: Client) -> Any:
    """List and read all that there is."""
    tools = (await client.list_tools()).tools
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    templates = [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
    uris = [*resources, *(f"index://query/{kind}" for kind in KINDS), f"run://{DONE}"]
    read = {uri: json.loads((await client.read_resource(uri)).contents[0].text) for uri in uris}  # type: ignore[union-attr]
    status = await client.call_tool("index_status", {})
    return tools, resources, templates, read, status.structured_content


def test_all_is_listed_and_read_in_memory_and_over_stdio(indexed: Path, tmp_path: Path) -> None:
    """Both ways the same; every tool says that it only reads, and nothing is said on standard error."""
    log = tmp_path / "errors"

    memory, stdio = in_memory(indexed, everything), over_stdio(indexed, everything, log)

    tools, resources, templates, read, status = memory
    assert TOOLS == [tool.name for tool in tools]
    assert all(tool.annotations.read_only_hint and not tool.annotations.destructive_hint for tool in tools)
    assert all("freshness" in tool.output_schema["required"] for tool in tools)
    assert (["index://status", "index://kinds"], ["index://query/{kind}", "run://{session_id}"]) == (
        resources,
        templates,
    )
    assert not [uri for uri, document in read.items() if "error" in document]
    assert [tool.name for tool in stdio[0]] == TOOLS
    assert (read, status) == stdio[3:]
    assert "" == log.read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_answers_equal_index_query(kind: str, indexed: Path, cli: "CommandLine") -> None:
    """The same document, and beside it where it goes on and what to do next."""
    expected = cli.run("index", "query", kind, "--limit", "500", "--json", "--state-root", str(indexed)).document

    answer = call(indexed, "query_index", kind=kind, page_size=500)

    assert expected == {name: value for name, value in answer.items() if name not in ("page", "next_step")}


def test_filters_and_columns_are_obeyed(indexed: Path) -> None:
    """What failed: one run, of which only what was asked for is told."""
    answer = call(indexed, "query_index", kind="runs", state="failed", columns=["session_id", "failure_category"])

    assert [{"session_id": FAILED, "failure_category": "nonzero-exit"}] == answer["rows"]


@pytest.mark.parametrize("what", get_args(Summary))
def test_summaries_have_rows_and_freshness(what: str, indexed: Path) -> None:
    """Every one answers from the sample runs, page after page what it answers at once."""
    answer = call(indexed, "summarize_runs", what=what, page_size=LARGEST_PAGE)
    rows, cursor = [], None
    while True:
        page = call(indexed, "summarize_runs", what=what, page_size=1, cursor=cursor)
        rows += page["rows"]
        if (cursor := page["page"]["next_cursor"]) is None:
            break

    assert answer["rows"] == rows != []
    assert "current" == answer["freshness"]


def test_one_run_is_told_with_all_its_parts(indexed: Path) -> None:
    """Its row, and what belongs to it; nothing was cut short."""
    answer = call(indexed, "run_details", session_id=DONE)

    assert (DONE, 1, []) == (answer["run"]["session_id"], answer["run"]["evidence_complete"], answer["cut_short"])
    assert answer["sources"]
    assert answer["metrics"]


def test_ten_thousand_rows_arrive_in_pages(root: Path) -> None:
    """Each once, in the order of the store, no page larger than allowed; beyond that the end is said to be none."""
    write_transitions(root, MANY, 10_001, day=1)
    index_store.sync(root)
    expected = index_store.query(root, "events", limit=10_000).rows

    async def session(client: Client) -> Any:
        rows, sizes, cursor = [], [], None
        while True:
            asked = {"kind": "events", "page_size": LARGEST_PAGE, "cursor": cursor}
            answer = (await client.call_tool("query_index", asked)).structured_content or {}
            rows += answer["rows"]
            sizes.append(len(answer["rows"]))
            if (cursor := answer["page"]["next_cursor"]) is None:
                return rows, sizes, answer["page"]

    rows, sizes, last = in_memory(root, session)

    assert [dict(row) for row in expected] == rows
    assert [LARGEST_PAGE] * 20 == sizes
    assert (False, True) == (last["complete"], "first 10000 rows" in last["hint"])


def test_rows_that_come_between_pages_shift_nothing(root: Path) -> None:
    """Newest come first; a sync between two pages neither doubles nor loses what was there before."""
    write_transitions(root, MANY, 30, day=1)
    index_store.sync(root)
    before = call(root, "query_index", kind="events", session=MANY, page_size=LARGEST_PAGE)["rows"]
    first = call(root, "query_index", kind="events", session=MANY, page_size=10)
    write_transitions(root, "newer", 5, day=20)
    index_store.sync(root)

    add = call(root, "query_index", kind="events", session=MANY, page_size=10, cursor=first["page"]["next_cursor"])
    everywhere = call(root, "query_index", kind="events", page_size=10)
    write_transitions(root, "newest", 5, day=25)
    index_store.sync(root)
    behind = call(root, "query_index", kind="events", page_size=10, cursor=everywhere["page"]["next_cursor"])

    assert before[:20] == first["rows"] + add["rows"]
    all_rows = call(root, "query_index", kind="events", page_size=LARGEST_PAGE)["rows"]
    assert all_rows[15:25] == behind["rows"]


def test_a_row_that_changed_ends_a_cursor(root: Path) -> None:
    """It is told, with the next step; rows are never guessed."""
    index_store.sync(root)
    first = call(root, "query_index", kind="runs", page_size=1)
    cursor = first["page"]["next_cursor"]
    status = root / "runs" / first["rows"][0]["session_id"] / "status.json"
    status.write_bytes(status.read_bytes().replace(b'"running"', b'"failed"'))
    index_store.sync(root)

    assert "cursor_expired" == fault(root, "query_index", kind="runs", page_size=1, cursor=cursor)["code"]


@pytest.mark.parametrize("kind", ["runs", "events", "errors"])
def test_a_rebuild_between_two_pages_changes_nothing(kind: str, root: Path) -> None:
    """The rows say the same of the evidence; when they were written is the index's own affair."""
    for name in ("broken-1", "broken-2"):
        (root / "runs" / name).mkdir()
        (root / "runs" / name / "status.json").write_text("{")
    index_store.sync(root)
    whole = call(root, "query_index", kind=kind, page_size=LARGEST_PAGE)["rows"]
    first = call(root, "query_index", kind=kind, page_size=1)
    index_store.rebuild(root)

    second = call(root, "query_index", kind=kind, page_size=1, cursor=first["page"]["next_cursor"])

    times = ("indexed_at", "detected_at")
    rows = [*first["rows"], *second["rows"]]
    assert [{n: v for n, v in row.items() if n not in times} for row in whole[:2]] == [
        {n: v for n, v in row.items() if n not in times} for row in rows
    ]


def test_a_cursor_serves_one_question(indexed: Path) -> None:
    """Anything else is refused with a code of its own."""
    cursor = call(indexed, "query_index", kind="runs", page_size=1)["page"]["next_cursor"]

    others: list[dict[str, Any]] = [{"kind": "runs", "state": "failed"}, {"kind": "events"}]
    odd = ("x", "", "bnVsbA", "é", "e30" * 999)
    mismatches = [fault(indexed, "query_index", **other, cursor=cursor)["code"] for other in others]
    invalid = [fault(indexed, "query_index", kind="runs", cursor=text)["code"] for text in odd]

    assert (["cursor_mismatch"] * 2, ["invalid_cursor"] * 5) == (mismatches, invalid)


def test_an_age_means_the_same_moment_on_every_page(indexed: Path) -> None:
    """It is fixed when the first page is asked for."""
    cursor = call(indexed, "query_index", kind="runs", since="9999d", page_size=1)["page"]["next_cursor"]
    digest = question_digest("runs", [None, None, None, None, None, None, "9999d", None])

    since, until = decode_cursor(cursor, digest).bounds

    assert ("T" in str(since), until) == (True, None)


def test_a_stale_index_is_said_to_be_stale(indexed: Path) -> None:
    """With the command that helps, in rows, sums, runs and status alike."""
    write_transitions(indexed, "unseen", 1, day=5)

    answers = [
        call(indexed, "index_status"),
        call(indexed, "query_index", kind="runs"),
        call(indexed, "summarize_runs", what="spend"),
        call(indexed, "run_details", session_id=DONE),
        call(indexed, "workflow_edges", workflow_id="none"),
    ]

    assert {"stale"} == {answer["freshness"] for answer in answers}
    assert all("agent-workflow index sync" in answer["next_step"] for answer in answers)
    assert "index is stale" in fault(indexed, "run_details", session_id="unseen")["hint"]


def test_a_missing_index_is_an_answer(tmp_path: Path) -> None:
    """Nothing is made, and the next step is told."""
    status = call(tmp_path / "nothing", "index_status")
    error = fault(tmp_path / "nothing", "query_index", kind="runs")

    assert ("missing", True) == (status["freshness"], "agent-workflow index sync" in status["next_step"])
    assert ("missing_database", "agent-workflow index sync") == (error["code"], error["hint"])
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_index_is_an_answer(indexed: Path) -> None:
    """Typed, with the file."""
    database = indexed / "index" / "agent-workflow.sqlite3"
    database.write_bytes(b"no database" * 1000)

    error = fault(indexed, "query_index", kind="runs")

    assert (str(database), True) == (error["path"], bool(error["hint"]))


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("query_index", {"kind": "attempts", "model": "x"}, "invalid_question"),
        ("query_index", {"kind": "runs", "since": "soon"}, "invalid_question"),
        ("query_index", {"kind": "runs", "since": "0001-01-01T00:00:00+14:00"}, "invalid_question"),
        ("query_index", {"kind": "runs", "until": "9999-12-31T23:59:59-14:00"}, "invalid_question"),
        ("query_index", {"kind": "runs", "columns": ["nothing"]}, "invalid_question"),
        ("query_index", {"kind": "runs", "columns": []}, "invalid_question"),
        ("summarize_runs", {"what": "open-incidents", "since": "1d"}, "invalid_question"),
        ("run_details", {"session_id": "nobody"}, "unknown_run"),
    ],
)
def test_a_wrong_question_is_a_typed_answer(tool: str, arguments: Any, code: str, indexed: Path) -> None:
    """With a code and the next step."""
    error = fault(indexed, tool, **arguments)

    assert (code, True) == (error["code"], bool(error["hint"]))


@pytest.mark.parametrize(
    "wrong", [{"page_size": 0}, {"page_size": LARGEST_PAGE + 1}, {"status": "failed"}, {"kind": ""}]
)
def test_what_is_no_argument_is_refused(wrong: dict[str, Any], indexed: Path) -> None:
    """A page that is too large, and a filter that there is not: passing over it would list every run as failed."""

    async def session(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        return tools, await client.call_tool("query_index", {"kind": "runs", **wrong})

    tools, answer = in_memory(indexed, session)

    assert answer.is_error
    assert next(iter(wrong)) in answer.content[0].text
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)


def test_asking_changes_no_file(indexed: Path, tmp_path: Path) -> None:
    """Evidence and index are byte for byte what they were."""

    def content() -> dict[str, bytes]:
        files = (path for path in indexed.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal")))
        return {str(path): path.read_bytes() for path in files}

    before = content()

    over_stdio(indexed, everything, tmp_path / "errors")

    assert before == content()
