"""The parts that decide, without processes: replies, redaction, configuration, rights, identity, parameters."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer import (
    BuildOutput,
    GateContext,
    GenericOutput,
    PhaseParams,
    PlanOutput,
    RecordedProcess,
    ReviewOutput,
    Tracer,
    TracerError,
    WorkflowError,
    artifacts_exist,
    files_non_empty,
    json_parses,
    load_config,
    rebuild,
    tests_pass,
    verdict_consistent,
)
from agent_workflow.tracer._identity import judge, recorded_command, same_command
from agent_workflow.tracer._json import clip_strings, decode_record, encode
from agent_workflow.tracer._processes import Process
from agent_workflow.tracer._redaction import Redactor, secrets_of
from agent_workflow.tracer._reply import UnreadableReply, parse_reply
from agent_workflow.tracer._shown import shown_status
from agent_workflow.tracer._worktree import compare, forbidden, snapshot

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3) | st.datetimes(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | st.tuples(inner),
    max_leaves=20,
)


@given(value=ANYTHING)
def test_whatever_is_written_can_be_read(value: Any) -> None:
    """Any value becomes one line of strict JSON, and writing what was read gives the same text."""
    text = encode({"value": value})

    assert "\n" not in text
    assert encode(decode_record(text.encode("ascii"))) == text


@pytest.mark.parametrize(
    "value", [{1: "a", "1": "b"}, {None: 1, "None": 2}, [[[]] * 3] * 3, {"n": 10**5000}, {"s": "\ud83d"}, object()]
)
def test_odd_values(value: Any) -> None:
    """Keys that would fall together, huge numbers, lone surrogates and objects are all written."""
    assert decode_record(encode({"value": value}).encode("ascii"))


def test_value_that_holds_itself() -> None:
    """A value that contains itself, even twice, is cut off."""
    loop: dict[str, Any] = {}
    loop["again"] = [loop, loop]
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]

    assert "nested too deeply" in encode(loop)
    assert "nested too deeply" in encode(deep)


def test_clipping_says_how_much_is_missing() -> None:
    """Long texts inside a value are shortened."""
    assert {"a": ["xx… [3 more characters]"]} == clip_strings({"a": ["xxxxx"]}, 2)


@pytest.mark.parametrize(
    "text",
    [
        '{"summary": "right"}',
        'Here it is:\n```json\n{"summary": "right"}\n```\nBye.',
        'First {"summary": "wrong"} and last {"summary": "right"} done',
        '{"summary": {"a": 1}} then {"summary": "right"}',
        "{ not this } " * 50 + '{"summary": "right", "artifacts": ["{}"]}',
        '\ufeff {"summary": "right", "more": {"deep": [1, {"x": 2}]}}',
    ],
)
def test_reply_that_parses(text: str) -> None:
    """The envelope is found among words and fences; the last one that fits is meant."""
    assert "right" == parse_reply(text, PlanOutput).summary


@pytest.mark.parametrize("text", ["", "no json", "[1, 2]", '{"summary": 3}', "{" * 50_000, '{"verdict": "maybe"}'])
def test_reply_that_does_not(text: str) -> None:
    """What is no envelope is refused in words that the model can read."""
    with pytest.raises(UnreadableReply, match="invalid ReviewOutput JSON"):
        parse_reply(text, ReviewOutput)


def test_names_that_look_secret() -> None:
    """Keys, tokens and passwords are secret; paths, numbers and short words are not."""
    environment = {
        "OPENAI_API_KEY": "sk-1234567",
        "GITHUB_TOKEN": "ghp_1234567",
        "DB_PASSWORD": "correct horse",
        "MYSECRETTHING": "whatever-it-is",
        "KEYBOARD": "qwertz-layout",
        "MONKEY": "a-monkey-name",
        "MAX_TOKENS": "4096",
        "USE_AUTH": "true",
        "SHORT_KEY": "abc",
        "HOME": "/home/somebody",
    }

    assert {"OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MYSECRETTHING"} == set(secrets_of(environment))


@given(secret=st.text(min_size=6, max_size=20), before=st.text(max_size=5), after=st.text(max_size=5))
def test_no_secret_survives(secret: str, before: str, after: str) -> None:
    """A secret inside any text of a payload, also in nested JSON, does not come through."""
    redactor = Redactor({"KEY": secret})
    nested = json.dumps({"args": json.dumps({"value": before + secret + after})})

    written = redactor.payload({"plain": before + secret + after, "nested": nested, secret: 1})

    assert secret not in str(json.loads(written)["plain"]).replace("[redacted:KEY]", "")
    assert all(form not in written.replace("[redacted:KEY]", "") for form in [json.dumps(secret)[1:-1]])


def test_configuration_is_read_forgivingly(tmp_path: Path) -> None:
    """Defaults reach every agent, unknown keys are named, and YAML's bare off is a thinking level."""
    (tmp_path / "c.yaml").write_text(
        "surprise: 1\ndefaults: {model: a/b, thinking: off, writes: []}\n"
        "agents:\n  - {name: one}\n  - {name: two, model: c/d, thinking: high, moood: 2, writes: [x]}\n"
    )

    config = load_config(tmp_path / "c.yaml")

    one, two = config.agents["one"], config.agents["two"]
    assert () == config.problems
    assert ("unknown key surprise", "unknown key agents[two].moood") == config.notices
    assert ("a/b", "off", (), "pi") == (one.model, one.thinking, one.writes, one.coding_agent)
    assert ("c/d", "high", ("x",)) == (two.model, two.thinking, two.writes)
    assert (tmp_path / "adws/adw_data/sssf.db", 500) == (config.db, config.poll_ms)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents: {a: 1}", "agents must be a list"),
        ("agents: [{model: x}]", "has no name"),
        ("agents: [{name: a}, {name: a}]", "another agent named a"),
        ("agents: [{name: ../a}]", "cannot name an agent"),
        ("agents: [{name: a, tools: read}]", "must be a list of texts"),
        ("agents: [{name: a, prompt_engineering: {system: none.md}}]", "there is no file none.md"),
        ("agents: [{name: a, thinking: loud}]", "thinking must be one of"),
        ("- 1", "must be a mapping"),
        ("a: [", "while parsing"),
        ("observability: {poll_ms: 0}", "above 0"),
        ("redaction: {patterns: ['(']}", "redaction.patterns"),
        ("redaction: {environment: maybe}", "true or false"),
    ],
)
def test_configuration_with_problems(tmp_path: Path, text: str, words: str) -> None:
    """What cannot be used is a sentence, not an exception."""
    (tmp_path / "c.yaml").write_text(text)

    assert any(words in problem for problem in load_config(tmp_path / "c.yaml").problems)


def test_missing_configuration(tmp_path: Path) -> None:
    """A file that is not there is a problem of the configuration."""
    assert "cannot be read" in load_config(tmp_path / "none.yaml").problems[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"description": ""},
        {"description": "  . "},
        {"description": "Plan it!"},
        {"name": "a/b"},
        {"name": ""},
        {"kind": "robot"},
        {"owner": " "},
        {"retries": -1},
    ],
)
def test_parameters_that_are_refused(changes: dict[str, Any]) -> None:
    """A phase that nobody would understand is refused."""
    with pytest.raises(WorkflowError):
        PhaseParams(
            **{"name": "plan-it", "kind": "agent", "owner": "planner", "description": "Write it down", **changes}
        )


def test_errors_are_one_tree() -> None:
    """Every error of the package can be caught as one, and bad parameters as ValueError too."""
    assert issubclass(WorkflowError, TracerError)
    assert issubclass(WorkflowError, ValueError)


def context(root: Path, envelope: Any, **changes: Any) -> GateContext:
    """Make what a gate is given."""
    return GateContext(envelope, root, changes, root)


def test_gates_on_files(tmp_path: Path) -> None:
    """Each gate tells everything it looked at; looking at nothing is a verdict of its own."""
    (tmp_path / "good.json").write_text("{}")
    (tmp_path / "empty.md").touch()
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "lines.jsonl").write_text("{}\n[]\n")
    envelope = GenericOutput(artifacts=["good.json", "empty.md", "bad.json", "lines.jsonl", "none.md"])

    exist, filled, parse = (
        gate(context(tmp_path, envelope)) for gate in (artifacts_exist, files_non_empty, json_parses)
    )

    assert ["none.md: declared artifact does not exist"] == exist.violations
    assert ["empty.md: is empty"] == filled.violations
    assert (["good.json", "bad.json", "lines.jsonl"], 1) == ([c.item for c in parse.checks], len(parse.violations))
    assert "inspected_nothing" == artifacts_exist(context(tmp_path, GenericOutput())).verdict


@pytest.mark.parametrize(
    ("verdict", "issues", "expected"),
    [("pass", [], "passed"), ("pass", ["x"], "failed"), ("fail", ["x"], "passed"), ("fail", [], "failed")],
)
def test_verdict_and_issues(tmp_path: Path, verdict: Any, issues: list[str], expected: str) -> None:
    """A review's verdict and its blocking issues must agree."""
    envelope = ReviewOutput(verdict=verdict, blocking_issues=issues)

    assert expected == verdict_consistent(context(tmp_path, envelope)).verdict


def test_test_commands(tmp_path: Path) -> None:
    """The command's exit decides; a missing command, a missing program and a slow one are failures."""
    envelope = BuildOutput()
    gates = [
        tests_pass("true"),
        tests_pass(["false"]),
        tests_pass("no-such-program"),
        tests_pass("sleep 5", timeout_seconds=0.1),
    ]

    verdicts = [gate(context(tmp_path, envelope)).verdict for gate in gates]

    assert ["passed", "failed", "failed", "failed"] == verdicts
    assert "failed" == tests_pass(context(tmp_path, envelope)).verdict
    assert "passed" == tests_pass(GateContext(envelope, tmp_path, {}, tmp_path, ("true",))).verdict


def test_changes_of_a_tree(tmp_path: Path) -> None:
    """Created, modified and deleted files are told apart; a rewrite of the same size is seen, links stay links."""
    for name in ("same", "rewritten", "deleted"):
        (tmp_path / name).write_text("aa")
    (tmp_path / ".git").mkdir()
    before = snapshot(tmp_path)
    (tmp_path / "rewritten").write_text("bb")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").symlink_to("/")
    (tmp_path / ".git/x").touch()

    assert {"deleted": "deleted", "new": "created", "rewritten": "modified"} == compare(before, snapshot(tmp_path))


@pytest.mark.parametrize(
    ("path", "writes", "protected", "is_breach"),
    [
        ("a.py", None, (), False),
        ("a.py", (), (), True),
        ("specs/deep/a.md", ("specs/",), (), False),
        ("specs.md", ("specs/",), (), True),
        ("src/x/a.py", ("src/**",), (), False),
        ("src/x/a.py", ("src/*.py",), (), False),
        ("a.py", (".",), (), False),
        (".env", None, (".env",), True),
        ("conf/.env", None, ("*.env",), True),
        ("a.py", ("*",), ("*.lock",), False),
    ],
)
def test_rights_of_an_agent(path: str, writes: Any, protected: Any, is_breach: bool) -> None:
    """Nothing said means everything, nothing listed means nothing, and protected files win."""
    assert ([path] if is_breach else []) == forbidden([path], writes, protected)


def recorded(**changes: Any) -> RecordedProcess:
    """Make a row of a process."""
    return RecordedProcess.from_row(
        {"id": 1, "adw_id": "a", "kind": "adw", "pid": 42, "command": "adw_plan.py good", **changes}
    )


def living(**changes: Any) -> Process:
    """Make a process that runs."""
    return Process(
        **{
            "pid": 42,
            "parent": 1,
            "is_zombie": False,
            "start_marker": "linux:b:1",
            "started": 1e9,
            "command": "python3 adws/adw_plan.py good",
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("row", "process", "state"),
    [
        ({}, living(), "alive"),
        ({"start_marker": "linux:b:1"}, living(), "alive"),
        ({"start_marker": "linux:b:2"}, living(), "recycled"),
        ({"start_marker": "linux:c:1"}, living(), "recycled"),
        ({"started_at": "2001-09-09T01:46:50+00:00"}, living(), "alive"),
        ({"started_at": "2001-09-09T01:46:30+00:00"}, living(), "recycled"),
        ({"command": "other.py good"}, living(), "recycled"),
        ({"command": None}, living(), "recycled"),
        ({"command": "node cli.js -p", "start_marker": "linux:b:1"}, living(command="pi"), "alive"),
        ({"command": "pi planner"}, living(command="pi"), "alive"),
        ({"command": "node cli.js -p"}, living(command="pi"), "recycled"),
        ({}, living(is_zombie=True), "zombie"),
        ({}, None, "gone"),
        ({"pid": 0}, living(), "invalid"),
        ({"pid": -42}, living(), "invalid"),
        ({"pid": None}, living(), "invalid"),
    ],
)
def test_identity(row: dict[str, Any], process: Process | None, state: str) -> None:
    """A pid counts only with its start time and its command."""
    assert state == judge(recorded(**row), process)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9), min_size=1, max_size=90))
def test_a_recorded_command_is_recognised(words: list[str]) -> None:
    """Whatever a process was started with, also far more than is kept, it is recognised by what was recorded."""
    assert same_command(
        recorded_command(["/usr/bin/" + words[0], *words[1:]]), " ".join(["/usr/bin/" + words[0], *words[1:]])
    )


@pytest.mark.parametrize(
    ("stored", "workflows", "age", "had_processes", "shown"),
    [
        ("success", [], None, True, "success"),
        ("waiting", [], None, True, "waiting"),
        (None, [], None, True, "unknown"),
        ("running", ["alive"], 9999, True, "running"),
        ("running", ["gone", "alive"], 1, True, "running"),
        ("running", ["gone"], 1, True, "lost"),
        ("running", ["recycled"], 1, True, "lost"),
        ("running", [], 1, True, "running"),
        ("running", [], 61, True, "lost"),
        ("running", [], 1, False, "running"),
        ("running", [], 601, False, "lost"),
        ("running", [], None, False, "lost"),
    ],
)
def test_shown_status(stored: Any, workflows: Any, age: Any, had_processes: bool, shown: str) -> None:
    """What is shown is what is stored, weighed against what is alive."""
    assert shown == shown_status(stored, workflows, age, had_processes=had_processes)


def test_file_before_database(tmp_path: Path) -> None:
    """When a call returns, the event is the last line of its file and a committed row of the database."""
    tracer = Tracer(tmp_path / "sssf.db", tmp_path, "run1")
    event_id = tracer.event("log", "naïve \ud83d", {"a": [1, None, "\u2028"]}, phase_id="p")

    line = json.loads(tracer.files.events.read_bytes().split(b"\n")[-2])
    other = sqlite3.connect(tmp_path / "sssf.db")
    row = other.execute("SELECT event_id, adw_id, phase_id, type, name, payload_json FROM events").fetchone()
    other.close()
    tracer.close()

    assert event_id == line["event_id"] == row[0]
    assert ("run1", "p", "log", "naïve ?", '{"a": [1, null, "\\u2028"]}') == row[1:]
    assert [
        "event_id",
        "ts",
        "adw_id",
        "phase_id",
        "type",
        "name",
        "payload",
        "parent_id",
        "tokens",
        "started_at",
        "ended_at",
    ] == list(line)


def test_log_is_copied_back_between_phases(tmp_path: Path) -> None:
    """The database's log does not grow with the number of phases, and a reader in the way is not waited for."""
    tracer = Tracer(tmp_path / "sssf.db", tmp_path, "run1")
    log = tmp_path / "sssf.db-wal"
    sizes = []
    for _ in range(4):
        for _ in range(400):
            tracer.event("log", "large", {"text": "x" * 8000})
        tracer.tidy()
        sizes.append(log.stat().st_size)
    tracer.close()

    assert sizes[0] > 4 * 1024 * 1024
    assert max(sizes) < 2 * sizes[0]


@pytest.mark.parametrize("adw_id", ["", ".", "..", "a/b", "-a", "a" * 129, "ä"])
def test_session_ids_that_are_refused(tmp_path: Path, adw_id: str) -> None:
    """An id that could leave the sessions' folder names no session."""
    with pytest.raises(TracerError):
        Tracer(tmp_path / "sssf.db", tmp_path, adw_id)


def test_number_that_another_session_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that draw the same number both keep their row, and a rebuild agrees."""
    numbers = iter([7, 7, 8])
    monkeypatch.setattr("agent_workflow.tracer._ids.new_row_id", lambda: next(numbers))
    drawn = []
    for adw_id in ("one", "two"):
        tracer = Tracer(tmp_path / "sssf.db", tmp_path, adw_id)
        tracer.row("sessions", status="success")
        drawn.append(tracer.numbered_row("gate_results", gate=adw_id))
        tracer.close()
    before = gates_in(tmp_path / "sssf.db")

    report = rebuild(tmp_path / "sssf.db", tmp_path)

    assert [7, 8] == drawn
    assert [(7, "one", "one"), (8, "two", "two")] == before
    assert report.lost_nothing
    assert before == gates_in(tmp_path / "sssf.db")


def gates_in(db: Path) -> list[Any]:
    """Read the rows of all gates."""
    connection = sqlite3.connect(db)
    rows = connection.execute("SELECT id, adw_id, gate FROM gate_results ORDER BY id").fetchall()
    connection.close()
    return rows
