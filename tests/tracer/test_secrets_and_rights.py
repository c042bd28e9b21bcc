"""Secrets stay out of everything that is written, and agents stay within their rights."""

import json
from pathlib import Path
from typing import Any

import pytest
from tracer_lab import Project

SECRET = 'sk-"live"-ünï/é\\n-12345'
CALL = """
with phase("build", kind="agent", owner="builder", retries=1) as ph:
    ph.log(note=os.environ["MY_API_KEY"], nested={os.environ["MY_API_KEY"]: [os.environ["MY_API_KEY"]]})
    ph.call(AgentCall(prompt="use " + os.environ["MY_API_KEY"]))
sys.exit(run.finish())
"""


def everything_written(project: Project) -> dict[str, bytes]:
    """Read all files that the tracer wrote."""
    return {str(path): path.read_bytes() for path in project.data_dir.rglob("*") if path.is_file()}


def forms(secret: str) -> list[bytes]:
    """Return a secret as it is, within JSON, and within JSON that is a string."""
    once = json.dumps(secret)[1:-1]
    return [
        form.encode() for form in (secret, once, json.dumps(once)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    ]


def test_secrets_of_the_environment(project: Project) -> None:
    """Values of secret-looking variables are nowhere: files, database, prompts, raw output, stderr, process table."""
    project.environment |= {"MY_API_KEY": SECRET, "DB_PASSWORD": "hunter2-hunter2", "HARMLESS": "harmless-value"}
    tools = [
        {"name": "bash", "arguments": {"command": "echo $MY_API_KEY $DB_PASSWORD $HARMLESS; echo $DB_PASSWORD >&2"}}
    ]
    project.script([{"text": "I saw hunter2-hunter2", "tools": tools}, {"text": json.dumps({"summary": SECRET})}])

    done = project.run(CALL, "run1")

    assert 0 == done.code, done.err
    for path, data in everything_written(project).items():
        assert not any(form in data for form in [*forms(SECRET), b"hunter2-hunter2"]), path
    written = b"".join(everything_written(project).values())
    assert b"[redacted:MY_API_KEY]" in written
    assert b"harmless-value" in written
    assert "success" == project.session("run1")["status"]


def test_patterns(project: Project) -> None:
    """Patterns of the configuration are replaced in every text, and the records stay valid."""
    project.script([{"text": '{"summary": "id 4711-4711"}'}])
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text() + "redaction: {environment: false, patterns: ['[0-9]{4}-[0-9]{4}']}\n")
    project.environment["MY_API_KEY"] = "1234-5678"

    project.run(CALL, "run1")

    for path, data in everything_written(project).items():
        assert b"1234-5678" not in data, path
        assert b"4711-4711" not in data, path
    assert {"note": "[redacted]", "nested": {"[redacted]": ["[redacted]"]}} == project.events("run1", "log")[0][
        "payload"
    ]


def test_redaction_can_be_switched_off(project: Project) -> None:
    """Who switches redaction off gets what was logged."""
    project.script([{"text": "{}"}])
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text() + "redaction: {environment: false}\n")
    project.environment["MY_API_KEY"] = "a-real-secret"

    project.run(CALL, "run1")

    assert "a-real-secret" == project.events("run1", "log")[0]["payload"]["note"]


WRITE = """
with phase("build", kind="agent", owner="builder", retries=1) as ph:
    try:
        ph.call(AgentCall(prompt="go"))
    except AgentError as error:
        print(type(error).__name__, error)
sys.exit(run.finish())
"""


@pytest.mark.parametrize(
    ("rights", "command", "breach"),
    [
        ("writes: [specs/]", "mkdir -p specs/deep && touch specs/deep/a", ""),
        ("writes: [specs/]", "touch src.py", "src.py"),
        ("writes: ['*.md']", "touch a.md", ""),
        ("writes: []", "touch anything", "anything"),
        ("writes: []", "true", ""),
        ("protected_files: [keep.txt]", "echo more >> keep.txt", "keep.txt"),
        ("protected_files: [keep.txt]", "rm keep.txt", "keep.txt"),
        ("protected_files: [keep.txt]", "touch other", ""),
        ("writes: ['*'], protected_files: [adws/]", "touch adws/sssf.config.yaml", "adws/sssf.config.yaml"),
    ],
)
def test_rights(project: Project, rights: str, command: str, breach: str) -> None:
    """A breach is recorded and fails the phase, even if the workflow catches the error; what is allowed passes."""
    (project.root / "keep.txt").write_text("keep\n")
    project.script([{"tools": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "{}"}])
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text().replace("script.json}", "script.json, " + rights + "}"))

    done = project.run(WRITE, "run1")

    recorded = [
        event["payload"]["paths"] for event in project.events("run1", "error") if event["name"] == "permission_breach"
    ]
    assert ([[breach]] if breach else []) == recorded
    assert ("fail" if breach else "success") == project.rows("phases")[0]["status"]
    assert ("PermissionBreach" in done.out) == bool(breach)


def test_breach_is_not_made_good(project: Project) -> None:
    """After a breach the phase fails, though a later call in it went well."""
    breach = {"tools": [{"name": "bash", "arguments": {"command": "touch forbidden"}}]}
    project.script([breach, {"text": "{}"}], [{"text": "{}"}])
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text().replace("script.json}", "script.json, writes: []}"))
    body = WRITE.replace("sys.exit", "    ph.call(AgentCall(prompt='again'))\nsys.exit")

    done = project.run(body, "run1")

    assert 1 == done.code
    assert "forbidden" in project.rows("phases")[0]["error"]
    assert 2 == len(project.events("run1", "agent_end"))


def test_gates_and_their_leavings(project: Project) -> None:
    """Claims are compared with what the agent changed; what a test run leaves behind is not laid to it."""
    turns: list[list[Any]] = [
        [
            {"tools": [{"name": "write", "arguments": {"path": "a.py", "content": "x = 1\n"}}]},
            {"text": '{"changed_files": ["a.py", "b.py"]}'},
        ],
        [
            {"tools": [{"name": "write", "arguments": {"path": "c.py", "content": "x = 1\n"}}]},
            {"text": '{"changed_files": ["a.py"]}'},
        ],
        [{"text": '{"changed_files": ["a.py", "c.py"], "artifacts": ["a.py"]}'}],
    ]
    project.script(*turns)
    body = """
with phase("build", kind="agent", owner="builder", retries=3) as ph:
    ph.call(AgentCall(output_type=BuildOutput, gates=[tests_pass("touch left-by-tests"), diff_matches_claims]))
sys.exit(run.finish())
"""
    done = project.run(body, "run1")

    assert 0 == done.code, done.err
    gates = [row for row in project.rows("gate_results") if row["gate"] == "diff_matches_claims"]
    violations = [json.loads(row["violations_json"]) for row in gates]
    assert [["b.py: is claimed but was not changed"], ["c.py: was created but is not claimed"], []] == violations
    assert (project.root / "left-by-tests").exists()


def test_files_are_only_where_they_belong(project: Project) -> None:
    """A run writes into its data folder and nowhere else."""
    before = {path for path in project.root.rglob("*") if ".git" not in path.parts}
    project.run("with phase('work') as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n", "run1")
    after = {path for path in project.root.rglob("*") if ".git" not in path.parts}

    new = {path for path in after - before if not path.is_relative_to(project.data_dir)}
    assert {project.root / "adws/adw_run1.py"} == new
    assert not list(Path(project.environment["HOME"]).iterdir())
