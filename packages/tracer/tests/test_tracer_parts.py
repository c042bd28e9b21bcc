"""The parts that decide, without processes: values, replies, redaction, configuration, parameters."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer import (
    PhaseParams,
    PlanOutput,
    ReviewOutput,
    TracerError,
    WorkflowError,
    load_config,
    locate_data_dir,
)
from agent_workflow.tracer._json import clip_strings, decode_record, encode
from agent_workflow.tracer._redaction import Redactor, secrets_of
from agent_workflow.tracer._reply import UnreadableReply, parse_reply
from agent_workflow.tracer.starter import write_starter

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
    surprise, mood = config.notices
    assert surprise.startswith("line 1: unknown key surprise (known: agents, defaults, ")
    assert mood.startswith("line 5: unknown key agents[two].moood (known: coding_agent, ")
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
        ("evidence: {state_root: ~no-such-user-of-ours/state}", "evidence.state_root"),
    ],
)
def test_configuration_with_problems(tmp_path: Path, text: str, words: str) -> None:
    """What cannot be used is a sentence, not an exception."""
    (tmp_path / "c.yaml").write_text(text)

    assert any(words in problem for problem in load_config(tmp_path / "c.yaml").problems)


def test_a_database_is_found_by_any_name_of_its_place(tmp_path: Path) -> None:
    """A configuration and a command may each lead to it over another folder."""
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "sssf.config.yaml").write_text(
        "observability: {db: ./x/../sssf.db}\ndefaults: {data_dir: y/../data}\n"
    )

    assert repository / "sssf.db" == load_config(repository / "sssf.config.yaml").db
    assert repository / "data" == locate_data_dir(repository / "z" / ".." / "sssf.db")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"*.log\r\n", b"*.log\r\n# "),
        (b"caf\xe9", b"caf\xe9\n# "),
        (b"adws/adw_data/\r\n", b"adws/adw_data/\r\n"),
    ],
    ids=["line ends", "encoding", "listed already"],
)
def test_ignored_files_are_added_to_what_is_there(tmp_path: Path, before: bytes, after: bytes) -> None:
    """Whatever the line ends and the encoding of what somebody else wrote, it stays."""
    (tmp_path / ".gitignore").write_bytes(before)

    write_starter(tmp_path)

    found = (tmp_path / ".gitignore").read_bytes()
    assert found.startswith(after)
    assert 1 == found.count(b"adws/adw_data/")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agents:\n  - name: a\n    thinking: loud\n", "line 3: agents[a].thinking must be one of "),
        ("defaults:\n  model: 3\nagents:\n- {name: a}\n- {name: b}\n", "line 2: defaults.model must be text"),
        ("agents:\n\n  - model: x\n", "line 3: agents[0] has no name"),
        ("agents:\n  - name: a\n    tools: [x\n", "line 4: while parsing a flow sequence, "),
        ("agents: []\nagents:\n\t- name: a\n", "line 3: while scanning for the next token, found character '\\t'"),
        (f"agents: [{{name: a, prompt_engineering: {{user: {'x' * 300}}}}}]", "line 1: agents[a].prompt_engineering.u"),
        ("x: &x\n  tools: 1\nagents:\n  - {<<: *x, name: a}\n", "agents[a].tools must be a list of texts"),
        ("defaults: &x [*x]\n", "line 1: defaults must be a mapping"),
    ],
)
def test_a_problem_has_its_line_and_is_told_once(tmp_path: Path, text: str, problem: str) -> None:
    """Of what defaults give to many agents, too; names that are too long and lists within themselves are no harm."""
    (tmp_path / "c.yaml").write_text(text)

    (told,) = load_config(tmp_path / "c.yaml").problems

    assert told.startswith(problem)


def test_a_key_that_stands_twice_is_told(tmp_path: Path) -> None:
    """YAML lets the last count, which nobody who reads the first would guess; a merged key is no second one."""
    (tmp_path / "c.yaml").write_text(
        "defaults: &d {model: x}\ntests: [a]\ntests: [b]\nagents:\n  - {<<: *d, name: a, model: y}\n"
    )

    config = load_config(tmp_path / "c.yaml")

    assert (("line 2: tests stands again in line 3",), ()) == (config.notices, config.problems)


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
