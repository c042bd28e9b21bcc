"""``trace import`` publishes: what the command says, what the index finds of it, and how it is kept from doing so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from published import document, verified
from tracer_lab import ROOT, Project

from agent_workflow import index_store
from agent_workflow.tracer import ensure, load_config
from agent_workflow.tracer.importing import import_sessions

SESSION = "1b1c60c2-0b2f-4f86-8c4e-0f0c4c3f7a11"
RUN = f"claude_code-{SESSION}"
PROGRAM = [sys.executable, "-c", "from agent_workflow.cli import main; main()"]


def transcript(path: Path, turns: int = 1) -> Path:
    """Write a session of Claude Code."""
    usage = {"input_tokens": 100, "output_tokens": 10}
    records: list[dict[str, Any]] = []
    for number in range(turns):
        answer = {"id": f"msg_{number:020}", "model": "claude-sonnet-4-5", "usage": usage, "stop_reason": "end_turn"}
        common = {"sessionId": SESSION, "timestamp": f"2026-03-01T23:3{number}:00.000Z", "cwd": "/home/dev/repo"}
        prompt = {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": "Build it"}}
        reply = {"type": "assistant", "uuid": f"a{number}", "requestId": f"r{number}"}
        records += [{**prompt, **common}, {**reply, **common, "message": {**answer, "content": []}}]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def trace_import(project: Project, *options: str, code: int = 0) -> Any:
    """Import the transcript of the repository."""
    words = [*PROGRAM, "trace", "import", "old.jsonl", "--json", *options]
    done = subprocess.run(words, cwd=project.root, env=project.environment, capture_output=True, text=True)
    assert code == done.returncode, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def test_an_imported_session_is_verified_evidence(project: Project) -> None:
    """Its seal holds, its row says what is known, and estimated money is nowhere billed."""
    transcript(project.root / "old.jsonl")
    told = trace_import(project)

    row = verified(project.state_root)[RUN]
    assert ([RUN], [], []) == (told["published"], told["fresh"], told["unpublished"])
    assert ("completed", "completed-not-accepted", None) == (
        row["executor_result"],
        row["attempt_classification"],
        row["exit_code"],
    )
    assert ("claude_code session", "/home/dev/repo", str(project.db)) == (
        row["workflow_id"],
        row["workdir"],
        row["trace_database"],
    )
    with index_store.open_index(project.state_root) as index:
        (spent,) = index.spend().rows
    assert (None, 0.00045, "2026-03-01") == (
        spent["provider_billed_cost"],
        spent["local_estimated_cost"],
        spent["day"],
    )


def test_importing_again_and_a_session_that_grew(project: Project) -> None:
    """Nothing for the first; another run for the second, which is counted in the place of the one before."""
    transcript(project.root / "old.jsonl")
    trace_import(project)
    again = trace_import(project)
    transcript(project.root / "old.jsonl", turns=2)
    (second,) = trace_import(project)["published"]

    assert [] == again["published"]
    assert {RUN, second} == set(verified(project.state_root))
    assert RUN == verified(project.state_root)[second]["retry_of_run_id"]
    with index_store.open_index(project.state_root) as index:
        (spent,) = index.spend().rows
        outcomes = [
            row["run_count"] for kind in (index.outcomes_by_day, index.outcomes_by_agent) for row in kind().rows
        ]
    assert (1, 0.0009) == (spent["run_count"], spent["local_estimated_cost"])
    assert [1, 1] == outcomes


def test_who_says_no_publishes_nothing(project: Project) -> None:
    """On the command line, or in the configuration; said otherwise later, it is published then."""
    transcript(project.root / "old.jsonl")
    trace_import(project, "--no-publish")
    project.configure("agents: []\nevidence: {publish: false}\n")
    trace_import(project)
    project.configure("agents: []\nevidence: {publish: perhaps}\n")
    trace_import(project)
    assert not project.state_root.exists()

    project.configure("agents: []\n")
    assert [RUN] == trace_import(project)["published"]


def test_the_configuration_names_the_state_root(project: Project, tmp_path: Path) -> None:
    """Where the workflows of the repository are published, too."""
    del project.environment["AGENT_WORKFLOW_STATE_ROOT"]
    project.configure(f"agents: []\nevidence: {{state_root: {tmp_path}/elsewhere}}\n")
    transcript(project.root / "old.jsonl")
    trace_import(project)
    project.environment["AGENT_WORKFLOW_STATE_ROOT"] = str(tmp_path / "elsewhere")

    assert {RUN} == set(verified(project.state_root))


def test_options_that_exclude_each_other(project: Project) -> None:
    """Nothing is imported."""
    transcript(project.root / "old.jsonl")

    trace_import(project, "--no-publish", "--publish-now", code=2)

    assert not project.db.exists()


def test_a_state_root_that_cannot_be_trusted_is_told(project: Project) -> None:
    """The sessions are imported, and the command ends with 1."""
    transcript(project.root / "old.jsonl")
    project.state_root.mkdir()
    project.state_root.chmod(0o777)
    told = trace_import(project, code=1)
    project.state_root.chmod(0o700)

    assert [RUN] == told["written"]
    assert "writable by others" in told["unpublished"][0]


def test_a_workflow_that_joins_an_imported_session(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run names the imported one, whose seal stays."""
    monkeypatch.setenv("AGENT_WORKFLOW_STATE_ROOT", str(project.state_root))
    transcript(project.root / "old.jsonl")
    trace_import(project)
    seal = (project.published(RUN) / "final-receipt.json").read_bytes()

    ensure(load_config(project.root / "adws/sssf.config.yaml"), RUN).finish()

    (joined,) = set(verified(project.state_root)) - {RUN}
    assert RUN == document(project.published(joined), "launch-contract.json")["session"]["retry_of"]
    assert seal == (project.published(RUN) / "final-receipt.json").read_bytes()


@pytest.mark.timeout(900)  # a hundred runs, and each of their seals is looked at again
def test_killed_at_every_step(project: Project) -> None:
    """Nobody ever sees half a run: there is none, or a sealed one; the next import publishes what is missing, once."""
    program = ROOT / "tests/tracer/lab/kill_at_every_step.py"
    command = [sys.executable, str(program), "import"]
    done = subprocess.run(command, cwd=project.root, env=project.environment, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    verdicts = json.loads(done.stdout)

    names = [f"import{step}" for step in range(1, len(verdicts) + 1)]
    for name in names:
        folder = project.root / name
        import_sessions([project.root / f"{name}.jsonl"], folder / "sssf.db", folder, publish_to=project.state_root)

    assert {"unpublished", "sealed"} == set(verdicts)
    assert 20 < len(verdicts)
    assert verdicts == sorted(verdicts, reverse=True)
    assert {f"claude_code-{name}" for name in names} == set(verified(project.state_root))
