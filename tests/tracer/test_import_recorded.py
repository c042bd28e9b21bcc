"""A conversation that ``run`` has recorded and that is imported from the agent's own file as well: evidence once."""

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from published import stages, verified
from tracer_lab import Project

from agent_workflow import index_store

SESSION = "1b1c60c2-0b2f-4f86-8c4e-0f0c4c3f7a11"
IMPORTED = f"claude_code-{SESSION}"
AGENT_WORKFLOW = str(Path(sys.executable).with_name("agent-workflow"))
MODEL = "claude-sonnet-4-5"


def spent(tokens: int) -> dict[str, int]:
    """The usage of a message."""
    return {"input_tokens": tokens, "output_tokens": 10}


def stream(tokens: int) -> list[dict[str, Any]]:
    """What Claude Code prints of one turn."""
    head = {"session_id": SESSION, "uuid": "s1"}
    message: dict[str, Any] = {
        "id": "msg_1",
        "model": MODEL,
        "content": [],
        "usage": spent(tokens),
        "stop_reason": None,
    }
    models = {MODEL: {"inputTokens": tokens, "outputTokens": 10, "contextWindow": 200_000}}
    end = {"subtype": "success", "is_error": False, "usage": spent(tokens), "total_cost_usd": 0.5, "result": "done"}
    return [
        {"type": "system", "subtype": "init", "model": MODEL, **head},
        {"type": "assistant", "message": message, "parent_tool_use_id": None, **head},
        {"type": "result", "modelUsage": models, "permission_denials": [], **end, **head},
    ]


def turn(number: int, at: datetime, tokens: int) -> list[dict[str, Any]]:
    """What Claude Code keeps of one turn."""
    common = {"sessionId": SESSION, "timestamp": at.isoformat().replace("+00:00", "Z"), "cwd": "/home/dev/repo"}
    message: dict[str, Any] = {"id": f"msg_{number:020}", "model": MODEL, "usage": spent(tokens), "content": []}
    message["stop_reason"] = "end_turn"
    reply = {"type": "assistant", "uuid": f"a{number}", "requestId": f"r{number}", "message": message}
    prompt = {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": "Build it"}}
    return [{**prompt, **common}, {**reply, **common}]


def call(project: Project, *words: str) -> "subprocess.CompletedProcess[bytes]":
    """Call ``agent-workflow``."""
    command = [AGENT_WORKFLOW, *words]
    done = subprocess.run(
        command, cwd=project.root, env=project.environment, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert 0 == done.returncode, done.stderr
    return done


def take(project: Project, *records: dict[str, Any]) -> Any:
    """Import a transcript of these records."""
    (project.root / "own.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return json.loads(call(project, "trace", "import", "own.jsonl", "--publish-now", "--json").stdout)


@pytest.fixture
def recorded(project: Project) -> tuple[Project, datetime]:
    """A project in which one turn was recorded, and a moment of that turn."""
    text = "".join(json.dumps(record) + "\n" for record in stream(100))
    call(project, "run", "--", "sh", "-c", f"printf %s {shlex.quote(text)}; sleep 0.05")
    began = project.rows("sessions")[0]["started_at"]
    return project, datetime.fromisoformat(began) + timedelta(milliseconds=20)


def test_what_was_recorded_is_no_evidence_again(recorded: tuple[Project, datetime]) -> None:
    """The import says so, and says it once; the index counts tokens and money of the recorder alone."""
    project, moment = recorded

    first = take(project, *turn(1, moment, 100))
    again = take(project, *turn(1, moment, 100))

    assert ([IMPORTED], [IMPORTED], []) == (first["written"], first["recorded"], first["published"])
    assert ([], []) == (again["recorded"], again["published"])
    assert 1 == len(verified(project.state_root))
    with index_store.open_index(project.state_root) as index:
        (line,) = index.spend().rows
    assert (1, 100, 0.5) == (line["run_count"], line["input_tokens"], line["provider_billed_cost"])


def test_a_turn_that_nobody_recorded_is_evidence(recorded: tuple[Project, datetime]) -> None:
    """Of a conversation that a person went on with, the imported run tells what the recorder has not seen."""
    project, moment = recorded
    take(project, *turn(1, moment, 100))
    later = datetime.now(UTC) + timedelta(hours=1)

    told = take(project, *turn(1, moment, 100), *turn(2, later, 7))

    assert ([IMPORTED], []) == (told["published"], told["recorded"])
    assert 7 == stages(project.published(IMPORTED))["total"]["input_tokens"]
    verified(project.state_root)
    with index_store.open_index(project.state_root) as index:
        rows = index.spend().rows
    assert [2, 107] == [sum(int(row[name] or 0) for row in rows) for name in ("run_count", "input_tokens")]


def test_another_conversation_at_the_same_time_is_evidence(recorded: tuple[Project, datetime]) -> None:
    """Only what is the agent's own name of the conversation counts, not the time."""
    project, moment = recorded
    records = [{**record, "sessionId": "other"} for record in turn(1, moment, 100)]

    told = take(project, *records)

    assert (["claude_code-other"], []) == (told["published"], told["recorded"])


def test_a_recorder_that_knows_of_no_spend(project: Project) -> None:
    """Then the agent's own file knows more, and is evidence."""
    text = "".join(json.dumps(record) + "\n" for record in stream(0)[:1])
    call_that_fails = [AGENT_WORKFLOW, "run", "--", "sh", "-c", f"printf %s {shlex.quote(text)}; exit 3"]
    subprocess.run(call_that_fails, cwd=project.root, env=project.environment, stdin=subprocess.DEVNULL, check=False)
    moment = datetime.fromisoformat(project.rows("sessions")[0]["started_at"])

    told = take(project, *turn(1, moment, 100))

    assert ([IMPORTED], []) == (told["published"], told["recorded"])
