"""How fast history is imported, in how much memory, and what an import without anything new costs.

Run: ``python -m benchmarks.tracer.importing [MEGABYTES]``. The transcripts are of Claude Code's shape, with results of
tools as long as they are in practice; each figure is taken in a process of its own.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from agent_workflow.tracer.importing import import_sessions
folder, out = Path(sys.argv[1]), Path(sys.argv[2])
began, cpu = time.perf_counter(), time.process_time()
report = import_sessions([folder], out / "sssf.db", out)
print(json.dumps({
    "wall": time.perf_counter() - began, "cpu": time.process_time() - cpu, "read": report.bytes_read,
    "files": report.files, "unchanged": report.unchanged, "sessions": len(report.written),
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}))
"""
_SESSION_BYTES = 2_000_000
_START = datetime(2026, 3, 1, tzinfo=UTC)


def generate(folder: Path, megabytes: int) -> None:
    """Write transcripts of about two megabytes each, some with a sub-agent."""
    dice = random.Random(megabytes)
    written = 0
    number = 0
    while written < megabytes * 1_000_000:
        session = f"{number:08x}-0000-4000-8000-{number:012x}"
        project = folder / f"-home-dev-project-{number % 20}"
        project.mkdir(parents=True, exist_ok=True)
        written += _transcript(project / f"{session}.jsonl", session, dice, _SESSION_BYTES)
        if number % 4 == 0:
            nested = project / session / "subagents" / f"agent-{number:08x}.jsonl"
            nested.parent.mkdir(parents=True)
            written += _transcript(nested, session, dice, _SESSION_BYTES // 4)
        number += 1


def _transcript(path: Path, session: str, dice: random.Random, size: int) -> int:
    """Write one transcript and return its size."""
    moment = _START + timedelta(minutes=dice.randrange(200_000))
    written = 0
    call = 0
    with path.open("wb") as stream:
        while written < size:
            moment += timedelta(seconds=dice.randrange(1, 30))
            records = _turn(session, call, moment, dice) if call % 12 == 0 else _call(session, call, moment, dice)
            call += 1
            for record in records:
                line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                stream.write(line)
                written += len(line)
    return written


def _text(dice: random.Random, size: int) -> str:
    words = ("return", "value", "the", "index", "of", "error\n", "def", "  if", "path", '"quoted"', "über", "0x1f")
    return " ".join(dice.choices(words, k=size // 6))


def _common(session: str, at: datetime, identity: str) -> dict[str, Any]:
    return {
        "sessionId": session,
        "cwd": "/home/dev/project",
        "version": "2.1.0",
        "gitBranch": "main",
        "isSidechain": False,
        "userType": "external",
        "uuid": identity,
        "parentUuid": identity,
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    }


def _turn(session: str, call: int, at: datetime, dice: random.Random) -> list[dict[str, Any]]:
    prompt = {"role": "user", "content": _text(dice, 400)}
    snapshot = {"type": "file-history-snapshot", "messageId": f"m{call}", "snapshot": {"text": _text(dice, 20_000)}}
    return [{"type": "user", "message": prompt, **_common(session, at, f"{session}-{call}-p")}, snapshot]


def _call(session: str, call: int, at: datetime, dice: random.Random) -> list[dict[str, Any]]:
    usage = {
        "input_tokens": dice.randrange(10, 2_000),
        "cache_creation_input_tokens": dice.randrange(3_000),
        "cache_read_input_tokens": dice.randrange(150_000),
        "output_tokens": dice.randrange(20, 2_000),
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
    }
    identity = f"msg_01{call:06d}{session.replace('-', '')}"
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": _text(dice, 300)},
        {"type": "tool_use", "id": f"toolu_{call}", "name": "Bash", "input": {"command": _text(dice, 120)}},
    ]
    records: list[dict[str, Any]] = []
    for block in blocks:
        message: dict[str, Any] = {"id": identity, "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        message |= {"content": [block], "stop_reason": "tool_use"}
        common = _common(session, at, f"{identity}-{block['type']}")
        records.append({"type": "assistant", "message": message, "requestId": f"req_{identity}", **common})
    output = _text(dice, dice.choice((300, 2_000, 8_000, 30_000)))
    result = [{"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": output, "is_error": False}]
    common = _common(session, at + timedelta(seconds=1), f"{identity}-r")
    about = {"stdout": output, "stderr": "", "interrupted": False}
    return [
        *records,
        {"type": "user", "message": {"role": "user", "content": result}, "toolUseResult": about, **common},
    ]


def measure(folder: Path, out: Path) -> dict[str, Any]:
    """Import in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), str(out)], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the figures."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch) / "projects", Path(scratch) / "out"
        out.mkdir()
        generate(folder, megabytes)
        first = measure(folder, out)
        time.sleep(2.5)  # until no file counts as having just changed
        measure(folder, out)
        again = measure(folder, out)
        small = Path(scratch) / "small"
        generate(small, max(1, megabytes // 10))
        tenth = measure(small, Path(scratch) / "tenth")
    print(f"{first['read'] / 1e6:.0f} MB in {first['files']} files, {first['sessions']} sessions")
    print(f"  CPU {first['cpu']:.1f} s, {first['read'] / 1e6 / first['cpu']:.0f} MB/s; wall {first['wall']:.1f} s")
    print(f"  peak {first['peak'] / 1024:.0f} MiB; of a tenth as much {tenth['peak'] / 1024:.0f} MiB")
    print(f"  again: CPU {again['cpu'] * 1000:.0f} ms, {again['cpu'] / again['files'] * 1e6:.0f} µs for each file")
    print(f"  this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
