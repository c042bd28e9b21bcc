"""Streams as four coding agents write them, and a program that plays them, for workflows without the real ones."""

import json
import sys
from typing import Any

from tracer_lab import Project

SESSIONS = {
    "claude_code": "1b1c60c2-0b2f-4f86-8c4e-0f0c4c3f7a11",
    "codex": "01a22b54-1b4b-7ce2-a0a1-b17059054071",
    "gemini": "84d2c99a-4b39-4848-ae80-850620741fa8",
    "opencode": "ses_dd4a68513ffetWCfkGZPq1Nljm",
}

PLAYER = """\
import json, os, subprocess, sys, time
from pathlib import Path
folder = Path(__file__).parent
number = len(list(folder.glob("sent.*")))
stdin = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
sent = {"argv": sys.argv[1:], "stdin": stdin, "folders": [os.getcwd(), os.environ["PWD"]]}
(folder / f"sent.{number}").write_text(json.dumps(sent))
script = json.loads((folder / "script.json").read_text())
play = script[min(number, len(script) - 1)]
for name, text in play["files"].items():
    file = Path(os.environ["HOME"]) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as opened:
        opened.write(text)
for record in play["records"]:
    sys.stdout.write(json.dumps(record) + "\\n")
    sys.stdout.flush()
if play["shell"]:
    subprocess.Popen(["sh", "-c", play["shell"]])
    while not Path("ready").exists():
        time.sleep(0.01)
if play["holds"]:
    Path("ready").touch()
    time.sleep(300)
sys.exit(play["code"])
"""


class StandIn:
    """Takes the place of one coding agent in a project.

    Attributes:
        agent: its kind.
        script: what it says, one entry a send; the last is repeated.
    """

    def __init__(self, project: Project, agent: str) -> None:
        self.agent = agent
        self.script: list[dict[str, Any]] = []
        self._folder = project.root.parent / "stand-in"
        self._folder.mkdir()
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
            project.environment.pop(name, None)
        (self._folder / "player.py").write_text(PLAYER)
        # A launcher that becomes the program, as Codex's does.
        (self._folder / "launcher").write_text(f'exec {sys.executable} {self._folder / "player.py"} "$@"\n')
        project.environment[f"AGENT_WORKFLOW_{agent.upper()}"] = f"sh {self._folder / 'launcher'}"
        project.configure(f"agents:\n  - {{name: builder, coding_agent: {agent}, model: some/model-1}}\n")

    def say(
        self, *records: Any, code: int = 0, files: dict[str, str] | None = None, shell: str = "", holds: bool = False
    ) -> None:
        """Add a send.

        Args:
            records: what it says.
            code: what it exits with.
            files: what it adds to files below the home.
            shell: a command that it leaves running, which has to make the file ``ready``.
            holds: make the file ``ready`` and go on for ever.
        """
        play = {"records": records, "code": code, "files": files or {}, "shell": shell, "holds": holds}
        self.script.append(play)
        (self._folder / "script.json").write_text(json.dumps(self.script))

    def sent(self) -> list[dict[str, Any]]:
        """Return the arguments, the stdin and the folders (real and PWD) of each start."""
        return [json.loads(file.read_text()) for file in sorted(self._folder.glob("sent.*"))]


def answer(agent: str, text: str, sends: int = 1) -> list[dict[str, Any]]:
    """Make the stream of a send that runs one command and answers: 110 fresh, 50 given, 1000 from the cache.

    Args:
        agent: whose stream.
        text: the reply.
        sends: how many of the conversation there were with this one, for an agent that counts on.
    """
    return {"claude_code": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}[agent](text, sends)


def _claude(text: str, _: int) -> list[dict[str, Any]]:
    line = {"session_id": SESSIONS["claude_code"], "parent_tool_use_id": None}
    spent = {"input_tokens": 110, "output_tokens": 1, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 0}
    head = {"model": "model-1", "usage": spent, "stop_reason": None}
    said = {"type": "text", "text": text}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -la"}}
    back = {"type": "tool_result", "tool_use_id": "t1", "content": "out.md", "is_error": False}
    told = {"inputTokens": 110, "outputTokens": 50, "cacheReadInputTokens": 1000, "contextWindow": 200_000}
    return [
        {"type": "system", "subtype": "init", "model": "model-1", **line},
        {"type": "assistant", "uuid": "u1", "message": {"id": "m1", "content": [call], **head}, **line},
        {"type": "user", "message": {"content": [back]}, **line},
        {"type": "assistant", "uuid": "u2", "message": {"id": "m1", "content": [said], **head}, **line},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": text,
            "stop_reason": "end_turn",
            "total_cost_usd": 0.25,
            "usage": {**spent, "output_tokens": 50},
            "modelUsage": {"model-1": told},
            **line,
        },
    ]


def _codex(text: str, sends: int) -> list[dict[str, Any]]:
    item = {"id": "item_0", "type": "command_execution", "command": "ls -la"}
    spent = {"input_tokens": 1110 * sends, "cached_input_tokens": 1000 * sends, "output_tokens": 50 * sends}
    return [
        {"type": "thread.started", "thread_id": SESSIONS["codex"]},
        {"type": "turn.started"},
        {"type": "item.started", "item": {**item, "status": "in_progress"}},
        {"type": "item.completed", "item": {**item, "status": "completed", "exit_code": 0}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": {**spent, "reasoning_output_tokens": 20 * sends}},
    ]


def _gemini(text: str, _: int) -> list[dict[str, Any]]:
    at = {"timestamp": "2026-11-30T07:24:53.731Z"}
    call = {"tool_name": "run_shell_command", "tool_id": "t1", "parameters": {"command": "ls -la"}}
    stats = {"total_tokens": 1160, "input_tokens": 1110, "output_tokens": 30, "cached": 1000}
    return [
        {"type": "init", "session_id": SESSIONS["gemini"], "model": "model-1", **at},
        {"type": "tool_use", **call, **at},
        {"type": "tool_result", "tool_id": "t1", "status": "success", "output": "out.md", **at},
        {"type": "message", "role": "assistant", "content": text, "delta": True, **at},
        {"type": "result", "status": "success", "stats": stats, **at},
    ]


def _opencode(text: str, _: int) -> list[dict[str, Any]]:
    line = {"timestamp": 1796023616027, "sessionID": SESSIONS["opencode"]}
    state = {"status": "completed", "input": {"command": "ls -la"}, "output": "out.md", "metadata": {"exit": 0}}
    tokens = {"total": 1160, "input": 110, "output": 30, "reasoning": 20, "cache": {"read": 1000, "write": 0}}
    return [
        {"type": "step_start", "part": {}, **line},
        {"type": "tool_use", "part": {"tool": "bash", "callID": "t1", "state": state}, **line},
        {"type": "text", "part": {"messageID": "m1", "text": text}, **line},
        {"type": "step_finish", "part": {"id": "p1", "reason": "stop", "tokens": tokens, "cost": 0.25}, **line},
    ]
