"""One running agent: its output is stored as it comes and handed on line by line, and it never waits for us.

A thread does nothing but read: what it reads goes to the files and into a queue. So a slow database can never fill
the agent's pipe and stop it.
"""

import contextlib
import os
import queue
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._ending import MARK, end_processes, tree_below
from agent_workflow.tracer._json import MAX_LINE_BYTES
from agent_workflow.tracer._linger import Linger
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._redaction import Redactor

_CHUNK: Final = 1 << 16
_LEFT_SECONDS: Final = 3.0
_GRACE_SECONDS: Final = 3.0


class AgentProcess:
    """A started agent in a session of its own; what it reads from stdin is there before it begins."""

    def __init__(
        self,
        argv: list[str],
        environment: Mapping[str, str],
        *,
        cwd: Path,
        mark: str,
        stdout_file: Path,
        stderr_file: Path,
        redactor: Redactor,
        stdin: bytes | None = None,
    ) -> None:
        """Start it.

        Args:
            argv: program and arguments.
            environment: added to this process's own.
            cwd: folder to work in.
            mark: inherited by everything below it.
            stdout_file: appended to, in whole lines, without secrets.
            stderr_file: the same.
            redactor: replaces secrets in what is stored; lines that are handed on are as they came.
            stdin: what it reads there, ``None`` for nothing.

        Raises:
            OSError: it cannot be started, or its files cannot be opened.
        """
        self.mark = mark
        self.left_running: list[str] = []
        self.storage_fault = ""
        self._redactor = redactor
        self._queue: queue.SimpleQueue[tuple[bytes, str] | None] = queue.SimpleQueue()
        with contextlib.ExitStack() as files, _as_stdin(stdin) as source:
            self._stdout = files.enter_context(stdout_file.open("ab", buffering=0))
            self._stderr = files.enter_context(stderr_file.open("ab", buffering=0))
            self._process = subprocess.Popen(  # noqa: S603 - the configured agent
                argv,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                # Some agents believe PWD, which a shell would have set, more than the folder they are in.
                env={**os.environ, "PWD": str(cwd), **environment, MARK: mark},
                start_new_session=True,
                bufsize=0,
            )
            files.pop_all()
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._drain, name=f"agent {self.pid}", daemon=True)
        self._reader.start()

    def lines(self, deadline: float | None = None) -> Iterator[tuple[bytes, str]]:
        """Yield each line of stdout without its newline, with the time it came, until the stream ends.

        Args:
            deadline: on the monotonic clock.

        Raises:
            TimeoutError: the deadline passed, and the stream goes on.
        """
        while True:
            # Before every line: an agent that never falls silent must end, too.
            if deadline is not None and time.monotonic() > deadline and self._reader.is_alive():
                raise TimeoutError
            try:
                item = self._queue.get(timeout=0.25)
            except queue.Empty:
                continue
            if item is None:
                return
            yield item

    def wait(self, deadline: float | None = None) -> int:
        """Wait for the end; return the exit code, negative for a signal.

        Args:
            deadline: on the monotonic clock; a second is left to end after the stream has.

        Raises:
            TimeoutError: the deadline passed.
        """
        self._reader.join()
        seconds = None if deadline is None else max(1.0, deadline - time.monotonic())
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def end(self) -> None:
        """End it and everything below it, politely first; nothing of it is left afterwards."""
        root = find(self.pid)
        targets = tree_below({self.pid}, self.mark)
        if root is not None and self._process.poll() is None:
            targets.append(root)
        end_processes(targets, grace_seconds=_GRACE_SECONDS, force=True)
        # What was started while we looked.
        end_processes(tree_below({self.pid}, self.mark), grace_seconds=0, force=True)
        self._process.wait()
        self._reader.join(_LEFT_SECONDS)

    def _drain(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - both were asked for as pipes
        assert self._process.stderr is not None  # noqa: S101
        outgoing = {self._process.stdout: Lines(self._stdout), self._process.stderr: Lines(self._stderr)}
        try:
            self._read_all(outgoing)
        finally:
            for pipe, lines in outgoing.items():
                pipe.close()
                lines.file.close()
            self._queue.put(None)  # whatever happened here, nobody waits for more

    def _read_all(self, outgoing: Mapping[IO[bytes], "Lines"]) -> None:
        linger: Linger | None = None
        with selectors.DefaultSelector() as selector:
            for pipe in outgoing:
                selector.register(pipe, selectors.EVENT_READ, pipe)
            while selector.get_map():
                if linger is None and self._process.poll() is not None:
                    linger = Linger()
                ready = selector.select(timeout=0.1)
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    self._take(key.data is self._process.stdout, outgoing[key.data], data)
                    if not data:
                        selector.unregister(key.data)
                if linger is not None:
                    linger.note(something_came=bool(ready), is_held_up=False)
                    if linger.is_over:  # something below the agent merely holds its pipes open
                        self.left_running = [process.command for process in tree_below({self.pid}, self.mark)]
                        break
        for pipe, lines in outgoing.items():
            self._take(pipe is self._process.stdout, lines, b"")

    def _take(self, is_stdout: bool, lines: "Lines", data: bytes) -> None:
        at = _clock.now()
        whole = lines.split(data)
        if not whole:
            return
        try:
            lines.store(whole, self._redactor)
        except OSError as error:
            self.storage_fault = f"{lines.file.name}: {error.strerror}"
        if is_stdout:
            for line in whole:
                self._queue.put((line, at))


@contextlib.contextmanager
def _as_stdin(data: bytes | None) -> Iterator[IO[bytes] | int]:
    """Offer bytes in a file without a name: unlike a pipe, it needs nobody to fill it."""
    if data is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


class Lines:
    """Puts chunks together to lines; the end of the stream completes the last one."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._is_torn = False
        self._rest: list[bytes] = []
        self._length = 0

    def store(self, lines: list[bytes], redactor: Redactor) -> None:
        """Write lines, each with its newline and without secrets; behind one that was cut a new one begins.

        Raises:
            OSError: not all of it was written.
        """
        text = b"".join(redactor.line(line) + b"\n" for line in lines)
        data = memoryview(b"\n" + text if self._is_torn else text)
        done = 0
        try:
            while done < len(data):
                done += self.file.write(data[done:])  # an unbuffered file may take a part
        finally:
            if done:
                self._is_torn = data[done - 1] != ord("\n")

    def split(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without newlines; no data means the end."""
        *whole, rest = data.split(b"\n")
        if whole or not data:
            first = b"".join(self._rest) + (whole[0] if whole else b"")
            whole = [first, *whole[1:]] if whole else ([first] if first else [])
            self._rest, self._length = [], 0
        self._rest.append(rest)
        self._length += len(rest)
        if self._length > MAX_LINE_BYTES:  # no record is this long: give it up in pieces
            whole.append(b"".join(self._rest))
            self._rest, self._length = [], 0
        return whole
