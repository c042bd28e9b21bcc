"""A recorded command is byte for byte what it is bare: streams, exit code, signals, stdin."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running_lab import RUN, SECONDS, Lab, wait_for

PYTHON = [sys.executable, "-I", "-c"]
BYTES = "import os; os.write(1, bytes(range(256)) * 3 + b'\\xe2\\x80\\xa8\\xff\\0'); os.write(2, b'\\xfe\\0no newline')"
INTERLEAVED = "import os\nfor n in range(500): os.write(1 + n % 2, b'%d\\n' % n)"
TEN_MEBIBYTES = "import os, sys\nfor n in range(160): sys.stdout.buffer.write(bytes([n]) * 65536)"


@pytest.mark.parametrize(
    "command",
    [
        ["sh", "-c", "echo out; echo err >&2"],
        ["sh", "-c", "printf 'no newline'"],
        ["true"],
        ["sh", "-c", "exit 3"],
        ["sh", "-c", "exit 255"],
        ["sh", "-c", "echo dying; kill -TERM $$"],
        ["sh", "-c", "echo dying; kill -KILL $$"],
        ["sh", "-c", "kill -SEGV $$"],
        ["sh", "-c", "kill -PIPE $$"],
        ["sh", "-c", "kill -INT $$"],
        [*PYTHON, BYTES],
        [*PYTHON, TEN_MEBIBYTES],
        [*PYTHON, "import signal; print(signal.getsignal(signal.SIGPIPE))"],
        ["sh", "-c", "trap", "option-like", "--name", "-v"],
        ["sh", "-c", 'for word; do echo "$word"; done', "sh", "", "a b", "--", "--verbose", "\u00fc", "$(x)"],
    ],
    ids=lambda command: " ".join(command)[-30:].strip(),
)
def test_same_as_bare(lab: Lab, command: list[str]) -> None:
    """Exit code, death by signal, stdout and stderr are the command's own."""
    bare = lab.bare(*command)
    recorded = lab.recorded(*command)

    assert bare.returncode == recorded.returncode
    assert bare.stdout == recorded.stdout
    assert bare.stderr == recorded.stderr


def test_order_within_one_pipe(lab: Lab) -> None:
    """Where stdout and stderr are the same pipe, what is written to them keeps its order."""
    bare = lab.bare(*PYTHON, INTERLEAVED, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    recorded = lab.recorded(*PYTHON, INTERLEAVED, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    assert bare.stdout == recorded.stdout


def test_stdin_goes_through(lab: Lab) -> None:
    """Every byte of stdin gets to the command, and so does its end."""
    data = os.urandom(3_000_000)

    recorded = lab.recorded("cat", input=data)

    assert data == recorded.stdout


def test_stdin_that_nobody_reads(lab: Lab) -> None:
    """A command that reads only a part leaves the rest to whoever comes next, as it is without us."""
    (lab.root / "lines").write_bytes(b"first\nsecond\n")
    script = f"({' '.join(RUN)} -- sh -c 'read line; echo got $line'; cat) < lines"

    done = lab.bare("sh", "-c", script)

    assert (b"got first\nsecond\n", b"") == (done.stdout, done.stderr)


def test_command_that_closes_its_stdin(lab: Lab) -> None:
    """Whoever fills stdin learns that the command no longer reads, while it still runs."""
    os.mkfifo(lab.root / "fifo")
    with lab.start("sh", "-c", "exec < fifo; echo closed; read line", stdin=subprocess.PIPE) as process:
        with (lab.root / "fifo").open("wb") as fifo:
            assert process.stdin is not None
            assert process.stdout is not None
            assert b"closed\n" == process.stdout.readline()

            with pytest.raises(BrokenPipeError):
                fill(process.stdin.fileno())
            fifo.write(b"\n")
        process.stdin.close()

        assert 0 == process.wait(SECONDS)


def test_environment_and_folder(lab: Lab) -> None:
    """The command sees its own environment and one variable more, and works where we were called."""
    lab.environment["SOMETHING"] = "any thing"
    bare = lab.bare("sh", "-c", "pwd; env | grep -v ^_= | sort")
    recorded = lab.recorded("sh", "-c", "pwd; env | grep -v ^_= | sort")

    more = [line for line in recorded.stdout.splitlines() if line not in bare.stdout.splitlines()]
    assert [True] == [line.startswith(b"AGENT_WORKFLOW_TRACE=") for line in more]


def test_no_such_program(lab: Lab) -> None:
    """A program that is not there is told as a shell tells it, and recorded."""
    recorded = lab.recorded("no-such-program")

    assert 127 == recorded.returncode
    assert b"agent-workflow: cannot start no-such-program: No such file or directory\n" == recorded.stderr
    assert "fail" == lab.session()["status"]
    assert "cannot start no-such-program" in lab.events("error")[-1]["payload"]["error"]


def test_file_that_is_no_program(lab: Lab) -> None:
    """A file that may not be executed gives 126."""
    (lab.root / "data").write_text("nothing")

    assert 126 == lab.recorded("./data").returncode


def test_script_without_first_line(lab: Lab) -> None:
    """A script that does not say who runs it is run by the shell, as a shell would."""
    script = lab.root / "script"
    script.write_text("echo ran with $1\n")
    script.chmod(0o755)

    assert b"ran with it\n" == lab.recorded("./script", "it").stdout


def test_stalled_reader_loses_nothing(lab: Lab) -> None:
    """The command ends while the reader has read nothing at all; afterwards the reader gets every byte."""
    program = "import os, sys\nfor n in range(96): os.write(1, bytes([n]) * 65536)\nopen('ended', 'w').close()"
    expected = hashlib.sha256(b"".join(bytes([n]) * 65536 for n in range(96))).hexdigest()
    process = lab.start(*PYTHON, program)
    wait_for((lab.root / "ended").exists, "the end of the command")
    wait_for(lambda: lab.session()["status"] == "success", "the end of the session")
    assert process.poll() is None

    out, err = process.communicate(timeout=SECONDS)

    assert (0, b"") == (process.returncode, err)
    assert expected == hashlib.sha256(out).hexdigest()
    assert 96 * 65536 == lab.end()["stdout_bytes"]


@pytest.mark.skipif(sys.platform != "linux", reason="pipes have one size there")
def test_program_that_throws_away_what_the_pipe_does_not_take(lab: Lab) -> None:
    """A program that never waits for its reader, as some agents, loses nothing of a megabyte at once."""
    program = """
import os, sys
sys.stdin.readline()
os.set_blocking(1, False)
for n in range(10):
    try:
        os.write(1, bytes([n]) * 100_000)
    except BlockingIOError:
        pass
"""
    with lab.start(*PYTHON, program, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: len(lab.rows("processes")) == 2, "the recorder")
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.close()
        wait_for(lambda: lab.session()["status"] != "running", "the end of the session")
        assert process.stdout is not None

        assert 1_000_000 == len(process.stdout.read())


def test_reader_goes_away(lab: Lab) -> None:
    """When the reader closes, the command gets SIGPIPE at its next write, and we end as it does."""
    with lab.start("yes", stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert b"y\n" == process.stdout.read(2)

        process.stdout.close()

        assert -signal.SIGPIPE == process.wait(SECONDS)
    assert "SIGPIPE" == lab.end()["signal"]


def test_closed_streams(lab: Lab) -> None:
    """A caller that closed stdout and stdin does not confuse us, and they are closed for the command, too."""
    program = "import os, sys; sys.exit(sum(not os.path.exists(f'/dev/fd/{n}') for n in (0, 1)))"
    command = f'{sys.executable} -I -c "{program}" <&- >&-'

    bare = lab.bare("sh", "-c", command)
    recorded = lab.bare("sh", "-c", f"{' '.join(RUN)} -- {command}")

    assert (2, 2) == (bare.returncode, recorded.returncode)


def test_descriptors_of_the_caller(lab: Lab) -> None:
    """A descriptor that the caller hands down is the command's, and is closed when the command has ended."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    recorded = lab.recorded(*PYTHON, f"import os; os.write({writing}, b'through')", close_fds=False)
    os.close(writing)

    with os.fdopen(reading, "rb") as pipe:
        assert (0, b"through") == (recorded.returncode, pipe.read())


def test_output_of_what_stays_behind(lab: Lab) -> None:
    """A command that leaves something running which holds its streams does not keep the caller waiting."""
    script = "sleep 300 & echo $! > pid; echo done"
    began = time.monotonic()

    recorded = lab.recorded("sh", "-c", script)
    os.kill(int((lab.root / "pid").read_text()), signal.SIGKILL)

    assert (0, b"done\n") == (recorded.returncode, recorded.stdout)
    assert time.monotonic() - began < 250
    assert ["left_running"] == [event["name"] for event in lab.events("log")]


def test_caller_whose_stdout_does_not_wait(lab: Lab) -> None:
    """A stdout that somebody made non-blocking gets every byte all the same."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = lab.start(*PYTHON, TEN_MEBIBYTES, stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)

    with os.fdopen(reading, "rb") as pipe:
        assert b"".join(bytes([n]) * 65536 for n in range(160)) == pipe.read()
    assert 0 == process.wait(SECONDS)


def test_output_into_a_file(lab: Lab, tmp_path: Path) -> None:
    """Stdout may be a file that is appended to."""
    (tmp_path / "out").write_bytes(b"before\n")
    with (tmp_path / "out").open("ab") as out:
        lab.recorded("echo", "after", stdout=out, stderr=subprocess.PIPE)

    assert b"before\nafter\n" == (tmp_path / "out").read_bytes()


def fill(pipe: int) -> None:
    """Write into a pipe until nobody reads it any more, or for as long as things are waited for."""
    deadline = time.monotonic() + SECONDS
    os.set_blocking(pipe, False)
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            os.write(pipe, b"x" * 4096)
        time.sleep(0.01)
