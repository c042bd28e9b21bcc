"""``agent-workflow index query``: the table for people, the document for programs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_records import digest, journal_bytes, record
from invented_runs import RUNNING

from agent_workflow.cli._terminal_text import width_of
from agent_workflow.evidence_schemas import IndexQuery
from agent_workflow.index_store import KINDS

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytestmark = pytest.mark.slow

HOSTILE = "\x1b]0;owned\x07\x1b[2J red \u202egnp.exe 日本語の要約は幅が二倍 " + "x" * 300


@pytest.fixture
def hostile(root: Path, cli: "CommandLine") -> Path:
    """An indexed state root whose evidence attacks the terminal."""
    incident = record(
        "incident-event/v1",
        incident_id=digest("hostile")[:24],
        session_id=RUNNING,
        recorded_at="2026-03-01T14:00:00+00:00",
        category="\x9b31m\u2066odd",
        severity="high",
        summary=HOSTILE,
        fingerprint=digest("hostile"),
        evidence={},
        state="open",
    )
    with (root / "runs" / RUNNING / "incident-events.jsonl").open("ab") as file:
        file.write(journal_bytes(incident))
    assert cli.run("index", "sync", "--state-root", str(root)).code == 0
    return root


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_answers_with_its_document(kind: str, indexed: Path, cli: "CommandLine") -> None:
    """The document of each kind is what its contract says."""
    answer = cli.run("index", "query", kind, "--json", "--state-root", str(indexed))

    assert (0, "") == (answer.code, answer.err)
    document = IndexQuery.model_validate_json(answer.out)
    assert kind == document.kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_table_never_exceeds_the_terminal(kind: str, columns: int, hostile: Path, cli: "CommandLine") -> None:
    """No line of any table is wider than the terminal, whatever the evidence holds."""
    answer = cli.run_in_terminal(columns, "index", "query", kind, "--state-root", str(hostile))

    assert answer.code == 0
    assert all(width_of(line) <= columns for line in answer.lines)


def test_evidence_cannot_attack_a_terminal(hostile: Path, cli: "CommandLine") -> None:
    """Control and direction characters of evidence are escaped, also in a wide table and in the document."""
    for arguments in ((), ("--wide",), ("--json",)):
        answer = cli.run("index", "query", "incidents", *arguments, "--state-root", str(hostile))

        assert all(line.isprintable() for line in answer.out.splitlines())


def test_forty_columns_hold_what_matters(indexed: Path, cli: "CommandLine") -> None:
    """On a narrow terminal the ids are whole and the states are there."""
    expected = [
        "current: 4 current",
        "SESSION           STATE      EXECUTOR",
        "tidy-checkout     running    codex",
        "upgrade-database  failed     pi",
        "add-search        completed  claude",
        "write-manual      completed  claude",
    ]

    answer = cli.run_in_terminal(40, "index", "query", "runs", "--state-root", str(indexed))

    assert expected == answer.lines


def test_eighty_columns_say_what_waits_and_why(indexed: Path, cli: "CommandLine") -> None:
    """Behind a pipe a table is eighty columns wide: states, times, what needs a person, and what failed why."""
    expected = [
        "current: 4 current",
        "SESSION           STATE      STARTED            ATTENTION         WHY",
        "tidy-checkout     running    2026-03-01 14:00Z  1 open 1 pending  -",
        "upgrade-database  failed     2026-03-01 13:00Z                    nonzero-exit",
        "add-search        completed  2026-03-01 12:00Z                    -",
        "write-manual      completed  2026-02-20 14:00Z                    -",
    ]

    answer = cli.run("index", "query", "runs", "--state-root", str(indexed))

    assert expected == answer.lines


def test_colours_are_for_terminals(indexed: Path, cli: "CommandLine") -> None:
    """A terminal gets colours, a pipe does not, and NO_COLOR is obeyed."""
    call = ("index", "query", "runs", "--state-root", str(indexed))

    assert "\x1b[" in cli.run_in_terminal(80, *call).out
    assert "\x1b" not in cli.run_in_terminal(80, *call, NO_COLOR="1").out
    assert "\x1b" not in cli.run_in_terminal(80, *call, TERM="dumb").out
    assert "\x1b" not in cli.run(*call).out


def test_wide_shows_every_column_unshortened(indexed: Path, cli: "CommandLine") -> None:
    """``--wide`` leaves nothing out, however narrow the terminal."""
    answer = cli.run_in_terminal(40, "index", "query", "runs", "--wide", "--state-root", str(indexed))
    rows = cli.run("index", "query", "runs", "--json", "--state-root", str(indexed)).document["rows"]

    assert list(rows[0]) == answer.lines[1].split()
    assert rows[0]["source_fingerprint"] in answer.out


def test_filters_and_limit_narrow_the_answer(indexed: Path, cli: "CommandLine") -> None:
    """The filters of a kind reach the question."""
    failed = cli.run("index", "query", "runs", "--state", "failed", "--json", "--state-root", str(indexed))
    two = cli.run("index", "query", "runs", "--limit", "2", "--state-root", str(indexed))

    assert ["upgrade-database"] == [row["session_id"] for row in failed.document["rows"]]
    assert "current: 4 current; first 2 rows" == two.lines[0]
    assert 4 == len(two.lines)


def test_an_empty_answer_says_so(indexed: Path, cli: "CommandLine") -> None:
    """No row is an answer too, and names what was asked for."""
    call = ("index", "query", "runs", "--state", "killed", "--since", "2h", "--state-root", str(indexed))

    answer = cli.run(*call)

    assert (0, ["current: 4 current", "no runs with --state killed --since 2h"]) == (answer.code, answer.lines)


def test_a_stale_index_says_so_before_the_rows(indexed: Path, cli: "CommandLine") -> None:
    """The freshness line is true and names the next step."""
    with (indexed / "runs" / RUNNING / "events.jsonl").open("ab") as file:
        file.write(b"\n")

    answer = cli.run("index", "query", "runs", AGENT_WORKFLOW_STATE_ROOT=str(indexed))

    assert "stale: 3 current, 1 stale; agent-workflow index sync" == answer.lines[0]


def test_a_filter_that_a_kind_does_not_take_is_refused_by_name(indexed: Path, cli: "CommandLine") -> None:
    """The refusal says which filters there are."""
    answer = cli.run("index", "query", "performance", "--pack", "shop", "--state-root", str(indexed))

    expected = "agent-workflow: performance cannot be filtered by pack; its filters are: executor, model, limit\n"
    assert (2, "", expected) == answer


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("query", "dreams"), "invalid_question"),
        (("query", "runs", "--since", "soon"), "invalid_question"),
        (("query", "runs", "--limit", "0"), "invalid_question"),
        (("query", "runs", "--limit", "many"), "usage_error"),
        (("query",), "usage_error"),
        (("query", "runs", "--colour"), "usage_error"),
    ],
)
def test_a_wrong_call_exits_2(arguments: tuple[str, ...], code: str, indexed: Path, cli: "CommandLine") -> None:
    """A wrong call is one line on stderr and, with --json, one document on stdout."""
    answer = cli.run("index", *arguments, "--json", "--state-root", str(indexed))

    assert (2, code, 1) == (answer.code, answer.document["error"]["code"], len(answer.err.splitlines()))


def test_json_and_state_root_are_taken_at_every_place(indexed: Path, cli: "CommandLine") -> None:
    """The two options that every command has stand before or after the subcommand."""
    options = ("--json", "--state-root", str(indexed))

    first = cli.run(*options, "index", "query", "attempts")
    middle = cli.run("index", *options, "query", "attempts")
    last = cli.run("index", "query", "attempts", *options)

    assert first == middle == last
    assert "attempts" == first.document["kind"]


def test_a_closed_pipe_ends_quietly(indexed: Path, cli: "CommandLine") -> None:
    """A reader that has seen enough is no error."""
    process = cli.start("index", "query", "events", "--limit", "10000", "--wide", "--state-root", str(indexed))
    assert process.stdout is not None
    assert process.stderr is not None

    first = process.stdout.readline()
    process.stdout.close()

    assert "current: 4 current\n" == first
    assert (0, "") == (process.wait(timeout=240), process.stderr.read())
    process.stderr.close()


def test_a_full_disk_is_no_traceback(indexed: Path, cli: "CommandLine") -> None:
    """An answer that cannot be written is said in one line."""
    script = ("sh", "-c", 'exec "$@" > /dev/full', "sh")

    answer = cli.run("index", "query", "runs", "--state-root", str(indexed), prefix=script)

    assert (1, "", "agent-workflow: the answer cannot be written: No space left on device\n") == answer


def test_documents_are_ascii_and_one_row_a_line(indexed: Path, cli: "CommandLine") -> None:
    """A document can be cut by line and read in every encoding."""
    answer = cli.run("index", "query", "runs", "--json", "--state-root", str(indexed), PYTHONIOENCODING="ascii")

    rows = [line.rstrip(",") for line in answer.out.splitlines() if line.startswith('{"session_id"')]
    assert answer.document["rows"] == [json.loads(row) for row in rows]


def test_an_encoding_without_the_ellipsis_is_no_error(indexed: Path, cli: "CommandLine") -> None:
    """What was left out is marked in whatever stdout can encode."""
    answer = cli.run(
        "index", "query", "incidents", "--state-root", str(indexed), PYTHONIOENCODING="ascii", COLUMNS="40"
    )

    assert answer.code == 0
    assert "~" in answer.out
