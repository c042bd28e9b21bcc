"""A recorded command at a terminal: it sees one, of the right size, and keys reach it once and as they are."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from running_lab import RUN, SECONDS, Lab, is_alive, wait_for

LOOK = "import os; print([os.isatty(n) for n in (0, 1, 2)], os.get_terminal_size(1 if os.isatty(1) else 2))"
COUNTING = """
import signal, sys
count = 0
def note(number, frame):
    global count
    count += 1
    print("got", signal.Signals(number).name, flush=True)
signal.signal(signal.SIGINT, note)
print("ready", flush=True)
sys.stdin.readline()
print("total", count, flush=True)
"""
SIZES = """
import os, signal, sys
def tell(*_):
    print("size", *os.get_terminal_size(1), flush=True)
signal.signal(signal.SIGWINCH, tell)
tell()
sys.stdin.readline()
"""
RAW = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"ready")
data = b""
while not data.endswith(b"q"):
    data += os.read(0, 100)
os.write(1, repr(data).encode())
"""


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


@pytest.fixture
def screens(lab: Lab) -> Iterator[list[Screen]]:
    """End what a failing test has left."""
    made: list[Screen] = []
    yield made
    for screen in made:
        os.close(screen.master)
        if screen.code is None:
            os.kill(screen.pid, signal.SIGKILL)
            os.waitpid(screen.pid, 0)


def test_terminal_is_one(lab: Lab, screens: list[Screen]) -> None:
    """The command's three streams are terminals of the size of ours."""
    screens.append(screen := Screen(lab, sys.executable, "-c", f"input(); {LOOK}"))
    screen.type(b"\r")

    assert b"[True, True, True] os.terminal_size(columns=91, lines=33)\r\n" in screen.rest()
    assert 0 == screen.code
    assert "success" == lab.session()["status"]
    assert [] == lab.events("log")  # nothing was left running


@pytest.mark.parametrize(
    ("redirection", "seen"),
    [
        ("2> err", b"[True, True, False]"),
        ("< /dev/null", b"[False, True, True]"),
        ("< /dev/null 2> err", b"[False, True, False]"),
    ],
)
def test_only_stdout_is_a_terminal(lab: Lab, screens: list[Screen], redirection: str, seen: bytes) -> None:
    """A stream that is redirected is no terminal for the command; the others are."""
    screens.append(screen := Screen(lab, sys.executable, "-c", LOOK, script=f'exec "$@" {redirection}'))

    assert seen in screen.rest()


def test_only_stderr_is_a_terminal(lab: Lab, screens: list[Screen]) -> None:
    """With stdout in a pipe, stderr and stdin are terminals still, and stdout is recorded as a stream."""
    screens.append(screen := Screen(lab, sys.executable, "-c", LOOK, script='"$@" | cat'))

    assert b"[True, False, True]" in screen.rest()
    assert b"[True, False, True]" in lab.stored()


def test_bytes_are_the_same(lab: Lab, screens: list[Screen]) -> None:
    """What a terminal is sent is what it is sent without us: line ends, colours, bytes that are no text."""
    program = "import os; os.write(1, b'a\\nb\\r\\n\\x1b[31mred\\x1b[0m\\t\\xff\\xfe\\n'); os.write(2, b'err\\n')"
    for redirection in ("", "< /dev/null"):
        bare = Screen(lab, script=f'exec {sys.executable} -c "{program}" {redirection}')
        recorded = Screen(lab, sys.executable, "-c", program, script=f'exec "$@" {redirection}')
        screens += [bare, recorded]

        assert bare.rest() == recorded.rest()


def test_interrupt_reaches_it_once(lab: Lab, screens: list[Screen]) -> None:
    """Ctrl-C is one SIGINT for the command, and none for us."""
    screens.append(screen := Screen(lab, sys.executable, "-c", COUNTING))
    screen.wait_for(b"ready")
    screen.type(b"\x03")
    screen.wait_for(b"got SIGINT")
    screen.type(b"\r")

    assert b"total 1\r\n" in screen.rest()
    assert 0 == screen.code


def test_interrupt_without_a_stdin_that_is_a_terminal(lab: Lab, screens: list[Screen]) -> None:
    """Where keys do not go through us, Ctrl-C is handed on, once."""
    os.mkfifo(lab.root / "fifo")
    screens.append(screen := Screen(lab, sys.executable, "-c", COUNTING, script='exec "$@" < fifo'))
    with (lab.root / "fifo").open("wb") as stdin:
        screen.wait_for(b"ready")
        screen.type(b"\x03")
        screen.wait_for(b"got SIGINT")
        stdin.write(b"\n")

    assert b"total 1\r\n" in screen.rest()
    assert "success" == lab.session()["status"]


def test_interrupt_that_ends_it(lab: Lab, screens: list[Screen]) -> None:
    """A command that dies of Ctrl-C takes us with it, by the same signal."""
    # No shell: dash forgets a SIGINT that comes while it starts a program.
    screens.append(screen := Screen(lab, sys.executable, "-c", "import time; print('ready'); time.sleep(300)"))
    screen.wait_for(b"ready")
    screen.type(b"\x03")
    screen.rest()

    assert -signal.SIGINT == screen.code
    assert "SIGINT" in lab.rows("phases")[-1]["error"]


@pytest.mark.parametrize("redirection", ["", "< fifo"])
def test_size_follows(lab: Lab, screens: list[Screen], redirection: str) -> None:
    """When the terminal changes its size, the command is told."""
    os.mkfifo(lab.root / "fifo")
    screens.append(screen := Screen(lab, sys.executable, "-c", SIZES, script=f'exec "$@" {redirection}'))
    stdin = (lab.root / "fifo").open("wb") if redirection else None
    screen.wait_for(b"size 91 33")
    screen.resize(120, 50)
    screen.wait_for(b"size 120 50")
    screen.type(b"\r")
    if stdin is not None:
        stdin.close()

    screen.rest()
    assert 0 == screen.code


def test_keys_are_untouched(lab: Lab, screens: list[Screen]) -> None:
    """A command that wants raw keys gets every byte, those that mean something to terminals included."""
    keys = bytes(number for number in range(256) if number != ord("q"))
    screens.append(screen := Screen(lab, sys.executable, "-c", RAW))
    screen.wait_for(b"ready")
    for start in range(0, len(keys), 64):
        screen.type(keys[start : start + 64])
    screen.type(b"q")

    assert repr(keys + b"q").encode() in screen.rest()


@pytest.mark.parametrize("end", ["exit 3", "kill -KILL $$"])
def test_settings_are_restored(lab: Lab, screens: list[Screen], end: str) -> None:
    """However the command ends, the terminal is as it was."""
    script = 'stty -a > before; "$@"; code=$?; stty -a > after; exit $code'
    screens.append(screen := Screen(lab, "sh", "-c", f"stty raw -echo; {end}", script=script))
    screen.rest()

    assert (lab.root / "before").read_text() == (lab.root / "after").read_text()
    assert screen.code in (3, 137)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_settings_are_restored_when_we_are_ended(lab: Lab, screens: list[Screen], number: signal.Signals) -> None:
    """Told to stop or killed, we leave the terminal as it was, and nothing of the command."""
    screens.append(
        screen := Screen(lab, "sh", "-c", "echo $$ > pid; echo ready; exec sleep 300", script='"$@"; read x')
    )
    before = screen.settings()
    screen.wait_for(b"ready")
    pid = int((lab.root / "pid").read_text())
    front = wait_for(lambda: parent_of(pid), "the front")
    wait_for(lambda: is_raw(screen), "the terminal to be raw")

    os.kill(front, number)

    wait_for(lambda: not is_alive(pid), "the end of the command")
    wait_for(lambda: screen.settings() == before, "the settings")
    screen.type(b"\r")
    screen.rest()


def test_suspending(lab: Lab, screens: list[Screen]) -> None:
    """Ctrl-Z stops the command and us, with the terminal as it was; both go on when the shell says so."""
    script = 'set -m; stty -a > before; "$@"; stty -a > suspended; fg; exit $?'
    program = "echo $$ > pid; echo ready; read line; echo went on with $line; exit 6"
    screens.append(screen := Screen(lab, "sh", "-c", program, script=script))
    screen.wait_for(b"ready")
    pid = int((lab.root / "pid").read_text())
    wait_for(lambda: is_raw(screen), "the terminal to be raw")

    screen.type(b"\x1a")
    wait_for(lambda: (lab.root / "suspended").read_text() == (lab.root / "before").read_text(), "the shell")
    wait_for(lambda: is_raw(screen), "the shell to bring it back")
    screen.type(b"it\r")

    assert b"went on with it" in screen.rest()
    assert (6, False) == (screen.code, is_alive(pid))


def is_raw(screen: Screen) -> bool:
    """Tell whether a terminal lets keys through as they are."""
    return not termios.tcgetattr(screen.master)[3] & termios.ICANON


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    return int(subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, check=True).stdout)
