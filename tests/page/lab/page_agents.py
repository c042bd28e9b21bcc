"""Sessions of coding agents as they come about: imported transcripts, and commands recorded by `agent-workflow run`."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3] / "packages/tracer/tests"))

from import_lab import FIRST, answer, lines, moment, prompt, returned, tool_use

from agent_workflow.tracer.importing import import_sessions

THREAD = "01957000-0000-7000-8000-000000000001"
CLAUDE = f"claude_code-{FIRST}"
CODEX = f"codex-{THREAD}"


def task(call: str, purpose: str) -> dict[str, Any]:
    """A block that starts a sub-agent."""
    return {
        "type": "tool_use",
        "id": call,
        "name": "Task",
        "input": {"subagent_type": "Explore", "description": purpose, "prompt": "Look"},
    }


def write_transcripts(folder: Path) -> None:
    """Write a session of Claude Code with two sub-agents, one of them inside the other."""
    below = folder / FIRST / "subagents"
    below.mkdir(parents=True)
    (folder / f"{FIRST}.jsonl").write_bytes(
        lines(
            prompt(FIRST, "Find out why the import is slow", 0),
            answer(FIRST, "a", 1, tool_use("t0", "make profile"), spent=(900, 40)),
            returned(FIRST, "t0", 4),
            answer(FIRST, "b", 5, task("task1", "find the slow part"), spent=(1000, 50)),
            returned(FIRST, "task1", 40),
            answer(FIRST, "c", 42, spent=(1200, 300)),
        )
    )
    outer: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
    inner: dict[str, Any] = {"isSidechain": True, "agentId": "cd34"}
    (below / "agent-ab12.jsonl").write_bytes(
        lines(
            prompt(FIRST, "Explore", 6, **outer),
            answer(FIRST, "n", 8, tool_use("u1", "rg import"), spent=(4000, 60), **outer),
            returned(FIRST, "u1", 9, is_error=True, **outer),
            answer(FIRST, "o", 10, task("task2", "read the reader"), spent=(4000, 60), **outer),
            returned(FIRST, "task2", 30, **outer),
            answer(FIRST, "p", 36, spent=(5000, 90), **outer),
        )
    )
    (below / "agent-cd34.jsonl").write_bytes(
        lines(
            prompt(FIRST, "Read", 11, **inner),
            answer(FIRST, "q", 13, tool_use("v1", "sed -n 1,80p reader.py"), spent=(2000, 20), **inner),
            returned(FIRST, "v1", 14, **inner),
            answer(FIRST, "r", 28, spent=(2500, 70), **inner),
        )
    )
    for identity, call in (("ab12", "task1"), ("cd34", "task2")):
        (below / f"agent-{identity}.meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": call}))


def write_rollout(folder: Path, *, plan: str | None) -> None:
    """Write a session of Codex."""

    def record(kind: str, at: float, **payload: Any) -> dict[str, Any]:
        return {"timestamp": moment(at), "type": kind, "payload": payload}

    usage = {"input_tokens": 5000, "output_tokens": 200, "total_tokens": 5200}
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 272_000}
    limits = {"rate_limits": {"plan_type": plan}} if plan else {}
    call = {"name": "exec_command", "arguments": json.dumps({"cmd": "pytest -q"}), "call_id": "c1"}
    about = {"cwd": "/home/dev/repo", "cli_version": "0.1", "model_provider": "openai"}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"rollout-{THREAD}.jsonl").write_bytes(
        lines(
            record("session_meta", 100, id=THREAD, **about),
            record("event_msg", 100, type="task_started", turn_id=THREAD, model_context_window=272_000),
            record("turn_context", 100, turn_id=THREAD, model="gpt-5"),
            record("event_msg", 100, type="user_message", message="Make the tests green"),
            record("response_item", 102, type="function_call", **call),
            record("response_item", 104, type="function_call_output", call_id="c1", output="1 passed"),
            record("event_msg", 105, type="token_count", info=info, **limits),
            record("event_msg", 106, type="task_complete", last_agent_message="Green."),
        )
    )


def claude_stream() -> bytes:
    """Write what Claude Code prints: a retry, a sub-agent with a call of its own, a call that was denied."""

    def block(message: str, content: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
        body: dict[str, Any] = {"id": message, "model": "claude-sonnet-4-5", "content": [content], "stop_reason": None}
        body["usage"] = {"input_tokens": 10, "output_tokens": 1}
        head = {"type": "assistant", "session_id": FIRST, "uuid": f"{message} {content.get('id')}"}
        return {**head, "message": body, "parent_tool_use_id": parent}

    def back(call: str, parent: str | None = None, *, fails: bool = False) -> dict[str, Any]:
        content = [{"type": "tool_result", "tool_use_id": call, "content": "out", "is_error": fails}]
        return {"type": "user", "session_id": FIRST, "message": {"content": content}, "parent_tool_use_id": parent}

    models: dict[str, Any] = {"claude-sonnet-4-5": {"inputTokens": 300, "outputTokens": 100, "costUSD": 0.25}}
    denials = [{"tool_name": "Bash", "tool_use_id": "rm", "tool_input": {"command": "rm -r build"}}]
    return lines(
        {"type": "system", "subtype": "init", "session_id": FIRST, "model": "claude-sonnet-4-5"},
        {"type": "system", "subtype": "api_retry", "session_id": FIRST, "attempt": 1, "error": "overloaded"},
        block("m1", task("task1", "find the tests")),
        block("s1", tool_use("inner", "rg test"), "task1"),
        back("inner", "task1"),
        back("task1"),
        block("m2", tool_use("rm", "rm -r build")),
        back("rm", fails=True),
        {
            "type": "result",
            "subtype": "success",
            "session_id": FIRST,
            "is_error": False,
            "result": "Done.",
            "stop_reason": "end_turn",
            "total_cost_usd": 0.25,
            "usage": {"input_tokens": 200, "output_tokens": 60},
            "modelUsage": models,
            "permission_denials": denials,
        },
    )


def record_command(db: Path, name: str, folder: Path, *command: str) -> None:
    """Record a command as its user does; whatever it exits with is meant."""
    subprocess.run(
        [sys.executable, "-m", "agent_workflow.tracer.running", "--db", str(db), "--name", name, "--", *command],
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        cwd=folder,
        check=False,
        capture_output=True,
        timeout=120,
    )


def write_all(folder: Path, *, plan: str | None = None) -> Path:
    """Import and record one session of each kind; gives the database."""
    db = folder / "project/agents/sssf.db"
    db.parent.mkdir(parents=True)
    write_transcripts(folder / "projects/-home-dev-repo")
    write_rollout(folder / "codex", plan=plan)
    import_sessions([folder / "projects", folder / "codex"], db, db.parent)
    stream = folder / "stream.jsonl"
    stream.write_bytes(claude_stream())
    record_command(db, "recorded", folder, "cat", str(stream))
    record_command(db, "unknown", folder, "sh", "-c", "echo hello; echo oops >&2; exit 3")
    return db


def session_named(db: Path, name: str) -> str:
    """Return the id of the session of a recorded command."""
    connection = sqlite3.connect(db)
    try:
        return str(connection.execute("SELECT adw_id FROM sessions WHERE adw_name = ?", (name,)).fetchone()[0])
    finally:
        connection.close()
