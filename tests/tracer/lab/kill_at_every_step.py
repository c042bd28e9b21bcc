"""Records runs, each killed one step later than the one before, and says what the state root held of it then.

``python kill_at_every_step.py publish|finalize|import`` in a repository with a configuration. Every run is a fork, so
that a hundred of them take seconds; a step is a call that changes something on a disk. Prints one JSON list of
verdicts: ``unpublished``, ``unsealed``, ``sealed`` (and the seal holds), ``wrong``.
"""

import hashlib
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from agent_workflow.tracer import PhaseParams, ensure, load_config
from agent_workflow.tracer.evidence import _completing, _facts, _publisher, _sealing, finalize_lost  # noqa: F401 - before the fork
from agent_workflow.tracer.importing import _publishing, import_sessions

STEPS = ("open", "write", "ftruncate", "fchmod", "fsync", "mkdir", "rename", "replace", "rmdir", "unlink")
RUNS = Path(os.environ["AGENT_WORKFLOW_STATE_ROOT"]) / "runs"
IMPORTED = "claude_code-"


def main() -> None:
    """Kill until one run gets through."""
    verdicts = []
    scenario = {"publish": publish, "finalize": finalize, "import": import_one}[sys.argv[1]]
    for step in range(1, 1000):
        name = f"{sys.argv[1]}{step}"
        is_through = scenario(name, step)
        verdicts.append(verdict(RUNS / (IMPORTED + name if scenario is import_one else name)))
        if is_through:
            break
    print(json.dumps(verdicts))


def publish(name: str, step: int) -> bool:
    """Record a whole run; it is killed at a step of publishing."""

    def work() -> None:
        count = arm(step)
        for method in ("begin", "_move", "end"):
            setattr(_publisher.Publisher, method, counted(getattr(_publisher.Publisher, method), count))
        record(name)

    return forked(work)


def finalize(name: str, step: int) -> bool:
    """Record a run that is killed at work, and finalize it; whoever does so is killed at a step of that."""
    forked(lambda: record(name, killed=True))

    def work() -> None:
        count = arm(step)
        counted(finalize_lost, count)(RUNS / name, reason="it was killed", actor="test", warn=print)

    return forked(work)


def import_one(name: str, step: int) -> bool:
    """Import a session into a trace of its own, from ``<name>.jsonl``; it is killed at a step of publishing."""
    told = {"sessionId": name, "timestamp": "2026-03-01T08:00:00.000Z"}
    prompt = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Go"}}
    reply = {"id": "msg_1", "model": "some", "usage": {"input_tokens": 1}, "stop_reason": "end_turn", "content": []}
    records = [{**told, **prompt}, {**told, "type": "assistant", "uuid": "u2", "message": reply}]
    Path(f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))

    def work() -> None:
        count = arm(step)
        for function in ("publish_imported",):
            setattr(_publishing, function, counted(getattr(_publishing, function), count))
        import_again(name)

    return forked(work)


def import_again(name: str) -> None:
    """Import what is in ``<name>.jsonl`` into the trace in the folder of that name."""
    import_sessions([Path(f"{name}.jsonl")], Path(name, "sssf.db"), Path(name), publish_to=RUNS.parent)


def record(name: str, *, killed: bool = False) -> None:
    """Record a small run."""
    run = ensure(load_config("adws/sssf.config.yaml"), name)
    with run.phase(PhaseParams(name="work", kind="code", owner="ci", description="Do a thing")) as ph:
        ph.log(n=1)
        if killed:
            os.kill(os.getpid(), signal.SIGKILL)
    run.finish()


def forked(work: Callable[[], None]) -> bool:
    """Do something in a process of its own; tell whether it got to its end."""
    pid = os.fork()
    if pid == 0:
        leave(work)
    _, status = os.waitpid(pid, 0)
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL, status
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFEXITED(status)


def leave(work: Callable[[], None]) -> NoReturn:
    """Work, and end without what the parent has registered for its own end."""
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


class Count:
    """Counts steps while it is on, and sends this process a signal at one of them."""

    def __init__(self, deadly: int, number: signal.Signals) -> None:
        self.deadly = deadly
        self.number = number
        self.steps = 0
        self.is_on = False

    def step(self) -> None:
        """Take in one step."""
        if self.is_on:
            self.steps += 1
            if self.steps == self.deadly:
                os.kill(os.getpid(), self.number)


def arm(deadly: int, number: signal.Signals = signal.SIGKILL) -> Count:
    """Put a count before every step."""
    count = Count(deadly, number)
    for name in STEPS:
        setattr(os, name, before(getattr(os, name), count))
    return count


def before(real: Callable[..., Any], count: Count) -> Callable[..., Any]:
    """Count a call before it is made."""

    def call(*args: Any, **options: Any) -> Any:
        count.step()
        return real(*args, **options)

    return call


def counted(function: Callable[..., Any], count: Count) -> Callable[..., Any]:
    """Count the steps within a function alone."""

    def call(*args: Any, **options: Any) -> Any:
        count.is_on = True
        try:
            return function(*args, **options)
        finally:
            count.is_on = False

    return call


def verdict(run: Path) -> str:
    """Say what a run directory is worth at this moment."""
    if not (run / "launch-contract.json").exists():
        return "wrong" if run.exists() and list(run.iterdir()) else "unpublished"
    receipt = run / "final-receipt.json"
    if not receipt.exists():
        return "unsealed"
    artifacts = json.loads(receipt.read_bytes())["artifacts"]
    listed = {item["path"]: (item["size"], item["sha256"]) for item in artifacts}
    files = [path for path in run.iterdir() if path != receipt]
    found = {path.name: (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files}
    is_read_only = all(not stat.S_IMODE(path.stat().st_mode) & 0o222 for path in [*files, receipt])
    return "sealed" if listed == found and is_read_only else "wrong"


if __name__ == "__main__":
    main()
