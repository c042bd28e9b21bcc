"""A terminal of one's own, with a recorded command in its foreground."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from running_lab import RUN, SECONDS, Lab


class Screen:
    """A terminal with a command in its foreground."""

    def __init__(self, lab: Lab, *command: str, script: str = "") -> None:
        """Start a command; a script decides what becomes of its streams."""
        words = [*RUN, "--", *command]
        self.seen = b""
        self.code: int | None = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(lab.root)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            argv = ["/bin/sh", "-c", script, "sh", *words] if script else words
            os.execvpe(argv[0], argv, {**lab.environment, "TERM": "xterm"})
        self.resize(91, 33)

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal a size."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.master, keys)

    def wait_for(self, text: bytes) -> bytes:
        """Read until a text has been printed; return all that came before and it."""
        deadline = time.monotonic() + SECONDS
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if not self._read():
                raise AssertionError(f"{text!r} did not come: {self.seen!r}")
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def rest(self) -> bytes:
        """Read until the command has ended."""
        while self._read():
            pass
        seen, self.seen = self.seen, b""
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return seen

    def settings(self) -> list[object]:
        """Return the settings of the terminal."""
        return list(termios.tcgetattr(self.master))

    def _read(self) -> bool:
        if not select.select([self.master], [], [], SECONDS)[0]:
            raise AssertionError(f"it neither prints nor ends: {self.seen!r}")
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)


def is_raw(screen: Screen) -> bool:
    """Tell whether a terminal lets keys through as they are."""
    return not termios.tcgetattr(screen.master)[3] & termios.ICANON


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    return int(subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, check=True).stdout)
