"""A recorded command at a terminal: it sees one, of the right size, and keys reach it once and as they are."""

import os
import signal
import sys

import pytest
from running_lab import Lab, is_alive, wait_for
from screen_lab import Screen, is_raw, parent_of

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
