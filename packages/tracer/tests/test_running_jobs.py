"""A recorded command among a shell's jobs: it is suspended, brought back and ended as one that is not recorded."""

import os
import signal
import subprocess

import pytest
from running_lab import Lab, is_alive, wait_for
from screen_lab import Screen, is_raw


@pytest.mark.parametrize("wrapper", ["", "sh -c '\"$@\"; exit $?' sh"])
def test_suspending(lab: Lab, screens: list[Screen], wrapper: str) -> None:
    """Ctrl-Z stops the command, us and who called us, with the terminal as it was; all go on when the shell says so."""
    script = f'set -m; stty -a > before; {wrapper} "$@"; stty -a > suspended; fg; exit $?'
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


def test_suspending_where_no_shell_could_bring_it_back(lab: Lab, screens: list[Screen]) -> None:
    """In a window of its own, Ctrl-Z stops nothing: nobody could ever let it go on."""
    screens.append(screen := Screen(lab, "sh", "-c", "echo ready; read line; echo went on with $line"))
    screen.wait_for(b"ready")
    wait_for(lambda: is_raw(screen), "the terminal to be raw")

    screen.type(b"\x1a")
    screen.type(b"it\r")

    assert b"went on with it" in screen.rest()
    assert 0 == screen.code


def test_suspending_a_job_of_a_recorded_shell(lab: Lab, screens: list[Screen]) -> None:
    """Ctrl-Z stops what a recorded shell has in its foreground, neither the shell nor us."""
    program = "set -m; sh -c 'echo ready; exec sleep 300'; echo the shell goes on; kill -KILL %1"
    screens.append(screen := Screen(lab, "sh", "-c", program, script='set -m; "$@"; echo outside $?'))
    screen.wait_for(b"ready")
    wait_for(lambda: is_raw(screen), "the terminal to be raw")

    screen.type(b"\x1a")

    screen.wait_for(b"the shell goes on")
    assert b"outside 0" in screen.rest()


def test_terminal_goes_away(lab: Lab, screens: list[Screen]) -> None:
    """A command that outlives its terminal by nohup finds no more keys there, and does not wait for ever."""
    program = "echo $$ > pid; echo ready; read line || touch over"
    screens.append(screen := Screen(lab, "sh", "-c", program, script='trap "" HUP; exec "$@"'))
    screen.wait_for(b"ready")
    wait_for(lambda: is_raw(screen), "the terminal to be raw")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, screen.master)
    os.close(null)

    wait_for((lab.root / "over").exists, "the end of the command")
    wait_for(lambda: lab.session()["status"] != "running", "the end of the session")


def test_keys_after_the_end_are_the_shells(lab: Lab, screens: list[Screen]) -> None:
    """What is typed while the recorder still writes is not taken from whoever reads the terminal next."""
    program = "echo $$ > pid; echo ready; read line"
    screens.append(screen := Screen(lab, "sh", "-c", program, script='"$@"; echo over; read line; echo then $line'))
    screen.wait_for(b"ready")
    wait_for(lambda: len(lab.rows("processes")) == 2, "the recorder")
    (recorder,) = [row["pid"] for row in lab.rows("processes") if row["kind"] == "adw"]
    os.kill(recorder, signal.SIGSTOP)
    try:
        screen.type(b"\r")
        wait_for(lambda: not exists(int((lab.root / "pid").read_text())), "the end of the command")
        screen.type(b"typed\n")
    finally:
        os.kill(recorder, signal.SIGCONT)

    screen.wait_for(b"over")
    assert b"then typed" in screen.rest()


def exists(pid: int) -> bool:
    """Tell whether somebody has yet to wait for a process."""
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0
