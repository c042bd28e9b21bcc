"""A coding agent without a model: plays a script, really runs its tools, and prints pi's JSON stream.

``python -m agent_workflow.tracer.scripted_agent --session-id ID --session-dir DIR -- SCRIPT PROMPT``

The script is a JSON file ``{"sends": [{"turns": [...]}, ...]}``: one entry for each prompt of a conversation, the last
one repeated. A turn has ``text``, ``tools`` (``[{"name", "arguments"}]``; ``bash``, ``read``, ``write``), and at will
``input`` and ``output`` (tokens), ``error`` (the provider's refusal), ``stop`` (``length``) and ``seconds`` (to wait).
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

_RATES: Final = {"input": 1.25e-6, "output": 10e-6, "cacheRead": 0.125e-6, "cacheWrite": 1.25e-6}


def main(arguments: list[str] | None = None) -> int:
    """Play one prompt of a conversation."""
    words = sys.argv[1:] if arguments is None else arguments
    options, rest = words[: words.index("--")], words[words.index("--") + 1 :]
    session_id = options[options.index("--session-id") + 1]
    session_dir = Path(options[options.index("--session-dir") + 1])
    script = json.loads(Path(rest[0]).read_text(encoding="utf-8"))
    number = _count_send(session_dir, session_id)
    turns = script["sends"][min(number, len(script["sends"]) - 1)]["turns"]
    _emit("session", version=3, id=session_id, timestamp=_iso(), cwd=str(Path.cwd()))
    _emit("agent_start")
    _emit("message_end", message={"role": "user", "content": rest[1], "timestamp": _milliseconds()})
    messages = [_play(turn, number, index) for index, turn in enumerate(turns)]
    _emit("agent_end", messages=messages, willRetry=False)
    _emit("agent_settled", aborted=False)
    return 0


def _count_send(session_dir: Path, session_id: str) -> int:
    session_dir.mkdir(parents=True, exist_ok=True)
    file = session_dir / f"{session_id}.sends"
    number = int(file.read_text()) if file.exists() else 0
    file.write_text(str(number + 1))
    return number


def _play(turn: dict[str, Any], send: int, index: int) -> dict[str, Any]:
    _emit("turn_start")
    time.sleep(turn.get("seconds", 0))
    calls = [
        {"type": "toolCall", "id": f"call_{send}_{index}_{n}", "name": tool["name"], "arguments": tool["arguments"]}
        for n, tool in enumerate(turn.get("tools", []))
    ]
    text = [{"type": "text", "text": turn["text"]}] if turn.get("text") else []
    reason = "error" if turn.get("error") else turn.get("stop", "toolUse" if calls else "stop")
    message = {
        "role": "assistant",
        "content": [*text, *calls],
        "api": "scripted",
        "provider": "scripted",
        "model": "scripted",
        "usage": _usage(turn, index),
        "stopReason": reason,
        "timestamp": _milliseconds(),
        "responseId": f"scripted-{send}-{index}",
    }
    if turn.get("error"):
        message["errorMessage"] = turn["error"]
    _emit("message_end", message=message)
    results = [_run(call) for call in calls]
    _emit("turn_end", message=message, toolResults=results)
    return message


def _run(call: dict[str, Any]) -> dict[str, Any]:
    about = {"toolCallId": call["id"], "toolName": call["name"]}
    _emit("tool_execution_start", **about, args=call["arguments"])
    began = time.monotonic()
    text, is_error = _tool(call["name"], call["arguments"])
    content = [{"type": "text", "text": text}]
    duration = int((time.monotonic() - began) * 1000)
    _emit("tool_execution_end", **about, result={"content": content}, isError=is_error, durationMs=duration)
    result = {"role": "toolResult", **about, "content": content, "isError": is_error, "timestamp": _milliseconds()}
    _emit("message_end", message=result)
    return result


def _tool(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    try:
        if name == "bash":
            done = subprocess.run(  # noqa: S602 - running the script's commands is what this program is for
                arguments["command"], shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            return done.stdout + done.stderr, done.returncode != 0
        path = Path(arguments["path"])
        if name == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments["content"], encoding="utf-8")
            return f"Successfully wrote to {path}", False
        if name == "read":
            return path.read_text(encoding="utf-8"), False
    except (OSError, ValueError) as error:
        return str(error), True
    return f"unknown tool {name}", True


def _usage(turn: dict[str, Any], index: int) -> dict[str, Any]:
    if turn.get("error"):
        tokens = dict.fromkeys(_RATES, 0)
    else:
        tokens = {
            "input": turn.get("input", 100 + 10 * index),
            "output": turn.get("output", 50 + index),
            "cacheRead": 1000 * index,
            "cacheWrite": 0,
        }
    cost: dict[str, float] = {key: tokens[key] * rate for key, rate in _RATES.items()}
    total = sum(tokens.values())
    return {**tokens, "totalTokens": total, "cost": {**cost, "total": sum(cost.values())}}


def _emit(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def _iso() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def _milliseconds() -> int:
    return int(time.time() * 1000)


if __name__ == "__main__":
    sys.exit(main())
