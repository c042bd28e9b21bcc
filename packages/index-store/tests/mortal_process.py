"""Calls of the index store in a process of their own, which can be another user's, and can be killed anywhere.

A process that has imported everything waits for calls on its standard input and forks one child for each, so that a
death costs milliseconds. A child counts *points*: every SQL statement, every commit, every step of a backup and every
call of the operating system that the package makes; at the point of its death it kills itself with SIGKILL.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sample_state import StateRoot, write_rich_run

KILLED = "killed"
DONE = "done"


@dataclass(frozen=True)
class Call:
    """What a child does.

    Attributes:
        name: a function of the facade, or ``watch``: ask for the runs until the file ``until`` is there.
        state_root: its first argument.
        kind: for ``query``.
        arguments: its keyword arguments.
        user: id of the user that the child becomes.
        umask: the umask that it works under.
        die_at: number of the point at which it kills itself, from 1.
        die_after: seconds after which it is killed from outside.
        small_cache: let SQLite write pages before the commit, as it does with a large database.
        until: for ``watch``.
    """

    name: str
    state_root: str
    kind: str = "runs"
    arguments: dict[str, Any] | None = None
    user: int | None = None
    umask: int | None = None
    die_at: int | None = None
    die_after: float | None = None
    small_cache: bool = False
    until: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a child.

    Attributes:
        word: ``done``, ``killed``, or the name of the exception.
        message: the exception's text.
        answer: the report's document; of ``watch``, the distinct answers.
        points: how many points it passed.
    """

    word: str
    message: str = ""
    answer: Any = None  # JSON
    points: int = 0


class MortalProcess:
    """The process that forks; start calls one at a time, several of these side by side."""

    def __init__(self) -> None:
        """Start it and wait until it has imported everything."""
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._receive()

    def start(self, call: Call) -> None:
        """Begin a call without waiting for it."""
        if self._process.stdin is None:
            raise RuntimeError("no pipe to the process")
        self._process.stdin.write(json.dumps(asdict(call)) + "\n")
        self._process.stdin.flush()

    def finish(self) -> Outcome:
        """Wait for the call that was started."""
        return Outcome(**self._receive())

    def call(self, name: str, state_root: Path, **details: Any) -> Outcome:
        """Make a call and wait for it; ``details`` are those of :class:`Call`."""
        self.start(Call(name, str(state_root), **details))
        return self.finish()

    def close(self) -> None:
        """Let it end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def _receive(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            raise RuntimeError("the process died; its last words are on stderr")
        received: dict[str, Any] = json.loads(line)
        return received


@contextmanager
def mortal_processes(count: int) -> Iterator[list[MortalProcess]]:
    """Give several such processes, and end them."""
    processes: list[MortalProcess] = []
    try:
        processes.extend(MortalProcess() for _ in range(count))
        yield processes
    finally:
        for process in processes:
            process.close()


def _serve() -> None:
    """Answer calls until the standard input ends."""
    _warm_up()
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(_fork(Call(**json.loads(line))))), flush=True)


def _warm_up() -> None:
    """Make every call once, so that a child need import nothing, which as another user it might not be able to."""
    with tempfile.TemporaryDirectory() as folder:
        state = StateRoot(Path(folder) / "state")
        write_rich_run(state, "run")
        state.run("sealed", archived=True).seal()
        for name in ("sync", "rebuild", "query", "status", "verify"):
            _perform(Call(name, str(state.path)))


def _fork(call: Call) -> Outcome:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(call, writer)
    os.close(writer)
    if call.die_after is not None:
        time.sleep(call.die_after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Outcome(KILLED if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}")
    return Outcome(**json.loads(said))


def _child(call: Call, writer: int) -> None:
    """Do the call, write what came of it, and exit without any clean-up of the parent's."""
    os.close(0)
    points = _Points(call.die_at)
    if call.die_at is not None or call.name in ("sync", "rebuild", "initialize"):
        points.watch(small_cache=call.small_cache)
    if call.umask is not None:
        os.umask(call.umask)
    if call.user is not None:
        os.setgroups([])
        os.setgid(call.user)
        os.setuid(call.user)
    try:
        outcome = Outcome(DONE, answer=_perform(call), points=points.passed)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the test judges it
        hint = getattr(error, "hint", None)
        outcome = Outcome(type(error).__name__, str(error), {"hint": hint}, points.passed)
    with os.fdopen(writer, "w") as pipe:
        json.dump(asdict(outcome), pipe)
    os._exit(0)


def _perform(call: Call) -> object:
    from agent_workflow import index_store

    root, arguments = Path(call.state_root), call.arguments or {}
    if call.name == "watch":
        return _watch(root, Path(call.until))
    if call.name == "query":
        filters = index_store.Filters(**arguments)
        return index_store.query(root, call.kind, filters).to_document()
    if call.name == "initialize":
        return str(index_store.initialize(root, **arguments))
    function: Callable[..., Any] = getattr(index_store, call.name)
    return function(root, **arguments).to_document()


def _watch(root: Path, until: Path) -> list[list[str]]:
    """Return every distinct answer in the order of its first appearance after another one."""
    from agent_workflow import index_store

    seen: list[list[str]] = []
    while not until.exists():
        try:
            rows = index_store.query(root, "runs").rows
            answer = sorted(
                f"{row['session_id']} {row['durable_status']} {row['journal_record_count']}" for row in rows
            )
        except index_store.MissingDatabase:
            answer = ["missing"]
        except Exception as error:  # noqa: BLE001 -- an error is an answer that the test refuses
            answer = [f"{type(error).__name__}: {error}"]
        if not seen or seen[-1] != answer:
            seen.append(answer)
    return seen


class _Points:
    """Counts the points of a call, and dies at one."""

    def __init__(self, die_at: int | None) -> None:
        self.passed = 0
        self._die_at = die_at

    def point(self) -> None:
        self.passed += 1
        if self.passed == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def before_statement(self, _cursor: object, _sql: str, _bindings: object) -> bool:
        self.point()
        return True

    def before_commit(self) -> bool:
        self.point()
        return False  # go on

    def watch(self, *, small_cache: bool) -> None:
        """Make points of everything that this process does to the disk from now on."""
        import apsw

        points = self

        class Connection(apsw.Connection):
            """A connection whose backup moves a few pages at a time."""

            def backup(self, *arguments: Any) -> Any:
                return _Steps(super().backup(*arguments), points)

        def hook(connection: apsw.Connection) -> None:
            if small_cache:
                connection.execute("PRAGMA cache_size = 1")
                connection.execute("PRAGMA cache_spill = 1")
            connection.exec_trace = points.before_statement
            connection.set_commit_hook(points.before_commit)

        apsw.connection_hooks.append(hook)
        setattr(apsw, "Connection", Connection)  # noqa: B010 -- a type's name, in this child only
        for name in ("open", "mkdir", "unlink", "fchmod", "ftruncate", "pwrite", "close"):
            setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.point()
            return function(*arguments, **keywords)

        return counted


class _Steps:
    """A backup that stops for a point every few pages, within its one transaction."""

    def __init__(self, backup: Any, points: _Points) -> None:
        self._backup = backup
        self._points = points

    def __enter__(self) -> "_Steps":
        self._backup.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        self._points.point()
        return self._backup.__exit__(*error)

    @property
    def done(self) -> bool:
        return bool(self._backup.done)

    def step(self, pages: int) -> bool:
        self._points.point()
        return bool(self._backup.step(5 if pages < 0 else pages))


if __name__ == "__main__":
    _serve()
