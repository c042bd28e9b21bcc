"""What is left of a recorded command: its rows and files, where they are kept, and how a fault of that is told."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from running_lab import RUN, SECONDS, Lab, wait_for, wait_for_end, wait_for_pid

from agent_workflow.tracer import rebuild
from agent_workflow.tracer._agent_process import Lines
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer.running import Options
from agent_workflow.tracer.running._launch import Launch
from agent_workflow.tracer.running._recorder import Inbox

TABLES = ("sessions", "phases", "events", "processes", "agent_sessions")


def test_unknown_command(lab: Lab) -> None:
    """A command that nobody knows: output size, duration, exit, health; what it cost is unknown, not zero."""
    lab.recorded("sh", "-c", "echo four; printf on >&2; exit 3")

    session, (phase,), end = lab.session(), lab.rows("phases"), lab.end()
    assert ("fail", "sh", None) == (session["status"], session["adw_name"], session["total_cost"])
    assert ("run", "agent", "sh", "fail", "exit code 3") == (
        phase["name"], phase["kind"], phase["owner"], phase["status"], phase["error"],
    )  # fmt: skip
    assert (3, None, 5, 2) == (end["exit_code"], end["signal"], end["stdout_bytes"], end["stderr_bytes"])
    assert end["duration_ms"] >= 0
    assert end["health"]["peak_rss_bytes"] > 100_000
    assert end["health"]["cpu_user_seconds"] >= 0
    assert (None, None) == (end["cost"], end["usage"])
    assert (b"four\n", b"on\n") == (lab.stored(), lab.stored("stderr.log"))


def test_the_session_begins_with_its_command(lab: Lab) -> None:
    """The command runs before anything is written; session and phase last as long as it does, at least."""
    lab.recorded("sleep", "0.2")

    (session,), (phase,), (call,) = lab.rows("sessions"), lab.rows("phases"), lab.events("agent_start")
    assert session["started_at"] == phase["started_at"] == call["started_at"]


def test_rows_of_a_session(lab: Lab) -> None:
    """A session with one phase, two processes that have ended, and nested events; a rebuild says the same."""
    lab.recorded("echo", "hi", options=("--name", "greet", "--request", "Say hi"))

    assert [("success", "greet", "Say hi")] == [
        (row["status"], row["adw_name"], row["request"]) for row in lab.rows("sessions")
    ]
    assert {"adw", "agent"} == {row["kind"] for row in lab.rows("processes") if row["ended_at"]}
    types = {row["type"]: row for row in lab.rows("events")}
    assert ["phase_start", "agent_start", "agent_end", "phase_end"] == list(types)
    assert types["agent_start"]["parent_id"] == types["phase_start"]["event_id"]
    assert types["agent_end"]["parent_id"] == types["agent_start"]["event_id"]
    before = {table: lab.rows(table) for table in TABLES}
    assert rebuild(lab.data_dir / "sssf.db", lab.data_dir).lost_nothing
    assert before == {table: lab.rows(table) for table in TABLES}


def test_request_is_the_command_line(lab: Lab) -> None:
    """Without a request, the session was asked to do what the command line says."""
    lab.recorded("echo", "a b", "$x")

    assert "echo 'a b' '$x'" == lab.session()["request"]


def test_kept_beside_the_work(lab: Lab) -> None:
    """Without a configuration, a session is kept in a folder that git does not see, and is told where on demand."""
    (lab.root / "below").mkdir()
    subprocess.run(["git", "init", "-q", str(lab.root)], check=True)
    recorded = lab.recorded("sh", "-c", "cd below; exit 0", options=("--verbose",))

    status = subprocess.run(
        ["git", "-C", str(lab.root), "status", "--short"], capture_output=True, text=True, check=True
    )
    assert "" == status.stdout
    words = f"agent-workflow: session {lab.session()['adw_id']} is kept in {lab.data_dir}/sessions/"
    assert recorded.stderr.decode().startswith(words)
    assert 1 == recorded.stderr.count(b"\n")


def test_configuration_of_the_repository(lab: Lab) -> None:
    """Data folder, database and patterns come from the configuration; a wrong roster is told and no obstacle."""
    (lab.root / "adws").mkdir()
    (lab.root / "adws/sssf.config.yaml").write_text(
        "defaults: {data_dir: kept}\nobservability: {db: rows/trace.db}\nredaction: {patterns: ['xyz+']}\nagents: 5\n"
    )
    recorded = lab.recorded("echo", "xyzzz")

    assert (0, b"xyzzz\n") == (recorded.returncode, recorded.stdout)
    assert 1 == recorded.stderr.count(b"\n")
    assert b"agents must be a list" in recorded.stderr
    assert ["success"] == [row["status"] for row in lab.rows("sessions", lab.root / "rows/trace.db")]
    (file,) = (lab.root / "kept").glob("sessions/*/echo/raw_output.jsonl")
    assert b"[redacted]\n" == file.read_bytes()


def test_secrets_pass_through_and_are_not_kept(lab: Lab) -> None:
    """The reader gets the secret that was printed; no file of ours has it, not even one that is gone."""
    lab.environment["SOME_TOKEN"] = "hush-hush-hush"
    recorded = lab.recorded("sh", "-c", "echo out $SOME_TOKEN; echo err $SOME_TOKEN >&2", options=("--name", "n"))

    assert (b"out hush-hush-hush\n", b"err hush-hush-hush\n") == (recorded.stdout, recorded.stderr)
    assert b"out [redacted:SOME_TOKEN]\n" == lab.stored()
    kept = [file for file in lab.root.rglob("*") if file.is_file() and b"hush-hush-hush" in file.read_bytes()]
    assert [] == kept


@pytest.mark.parametrize("by_variable", [False, True])
def test_database_that_is_named(lab: Lab, by_variable: bool) -> None:
    """A database may be named; the sessions are beside it."""
    db = lab.root / "elsewhere/trace.db"
    options = () if by_variable else ("--db", str(db))
    if by_variable:
        lab.environment["SSSF_DB"] = str(db)
    lab.recorded("true", options=options)

    assert ["success"] == [row["status"] for row in lab.rows("sessions", db)]
    assert (db.parent / "sessions").is_dir()


def test_nowhere_to_keep_it(lab: Lab) -> None:
    """Where nothing can be written, that is told once, and the command runs as it would without us."""
    (lab.root / ".sssf").write_text("in the way")
    recorded = lab.recorded("sh", "-c", "read line; echo got $line; exit 7", input=b"it\n")

    assert (7, b"got it\n") == (recorded.returncode, recorded.stdout)
    assert 1 == recorded.stderr.count(b"\n")
    assert recorded.stderr.startswith(b"agent-workflow: ")


def test_command_is_watched_over_though_nothing_is_kept(lab: Lab) -> None:
    """Where nothing can be written, a front that is killed still takes its command with it."""
    (lab.root / ".sssf").write_text("in the way")
    with lab.start("sh", "-c", "echo $$ > pid; sleep 300") as process:
        pid = wait_for_pid(lab.root / "pid")
        process.kill()
    wait_for_end(pid)


def test_locked_database(lab: Lab) -> None:
    """A database that somebody holds is told; the files have everything, and the command was not kept waiting."""
    lab.recorded("true")
    holder = sqlite3.connect(lab.data_dir / "sssf.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with lab.start("sh", "-c", "echo said; echo done > done; exit 2") as process:
        wait_for((lab.root / "done").exists, "the command")
        wait_for(lambda: any(said(folder) for folder in lab.data_dir.glob("sessions/*")), "the files")
        holder.execute("ROLLBACK")
        holder.close()
        out, err = process.communicate(timeout=SECONDS)

    assert (2, b"said\n") == (process.returncode, out)
    assert b"locked" in err
    assert ["success", "fail"] == [row["status"] for row in lab.rows("sessions")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110 - a device
def test_output_that_cannot_be_written(lab: Lab) -> None:
    """A stdout that takes nothing ends the command's stream, as it would its own writing."""
    with Path("/dev/full").open("wb") as full:
        recorded = lab.recorded(
            "sh", "-c", "trap '' PIPE; echo one; sleep 0.1; exit 0", stdout=full, stderr=subprocess.PIPE
        )

    assert 0 == recorded.returncode
    assert b"agent-workflow: stdout takes no more: No space left on device\n" == recorded.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name cannot be seen")
def test_large_output_is_recycled(lab: Lab) -> None:
    """What everybody has read takes no room: the spill is emptied while the command goes on."""
    program = """
import os, sys
for n in range(6):
    for _ in range(128):
        os.write(1, b"x" * 65535 + b"\\n")
    print(n, file=sys.stderr, flush=True)
    sys.stdin.readline()
"""
    with lab.start(sys.executable, "-c", program, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sizes = []
        for n in range(6):
            got = 0
            while got < 128 * 65536:
                got += len(process.stdout.read(min(1 << 20, 128 * 65536 - got)))
            wait_for(partial(has_stored, lab, (n + 1) * 128 * 65536), "the recorder")
            sizes.append(spilled(process.pid))
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert 0 == process.wait(SECONDS)
        assert process.stderr is not None
        process.stderr.close()

    assert max(sizes) < 6 * 128 * 65536  # emptied at least once; when, is up to how busy the machine is
    assert 6 * 128 * 65536 == lab.end()["stdout_bytes"]


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name cannot be seen")
def test_large_output_that_nobody_records_is_recycled(lab: Lab) -> None:
    """Once the recorder has gone, what the reader has is enough."""
    program = "import os, sys; input(); [os.write(1, bytes(65536)) for _ in range(320)]; input()"
    with lab.start(sys.executable, "-c", program, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        wait_for(lambda: len(lab.rows("processes")) == 2, "the recorder")
        (recorder,) = [row["pid"] for row in lab.rows("processes") if row["kind"] == "adw"]
        os.kill(recorder, signal.SIGKILL)
        wait_for_end(recorder)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert 320 * 65536 == len(process.stdout.read(320 * 65536))

        wait_for(lambda: spilled(process.pid) < 1 << 24, "the spill to be emptied")
        process.stdin.close()


def test_disk_that_takes_no_more(lab: Lab) -> None:
    """Where no file can grow, neither the spill nor the session's, every byte still gets through, and that is told."""
    program = "import os\nfor n in range(60): os.write(1, bytes([n]) * 50_000)\nos._exit(3)"
    limited = ["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh"]
    recorded = lab.bare(*limited, *RUN, "--", sys.executable, "-c", program)

    assert (3, b"".join(bytes([n]) * 50_000 for n in range(60))) == (recorded.returncode, recorded.stdout)
    assert b"agent-workflow: there was no room for " in recorded.stderr
    assert recorded.stderr.count(b"\n") < 10
    assert lab.end()["stdout_bytes"] == 3_000_000 > lab.end()["unrecorded_bytes"] > 0


def test_stopped_by_nobody(lab: Lab) -> None:
    """A command that ends itself by a signal is not one that was told to stop."""
    lab.recorded("sh", "-c", "kill -TERM $$")

    assert "ended by SIGTERM" == lab.rows("phases")[-1]["error"]
    assert signal.SIGTERM.name == lab.end()["signal"]


def said(folder: Path) -> bool:
    """Tell whether a session's file has the output."""
    return any(b"said" in file.read_bytes() for file in folder.glob("sh/raw_output.jsonl"))


def has_stored(lab: Lab, size: int) -> bool:
    """Tell whether so many bytes of output are stored."""
    return len(lab.stored()) == size


def spilled(pid: int) -> int:
    """Return how many bytes a process holds in files without a name."""
    total = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        if str(entry.readlink()).endswith(" (deleted)"):
            total += entry.stat().st_size
    return total


def test_what_was_told_outlives_whoever_stopped_listening() -> None:
    """A recorder that stumbles still hears the end of the command, and does not take the front for killed."""
    reading, writing = os.pipe()
    os.write(writing, b"start 1 2.5\ndata stdout 3 4.5\nend 0 0 0 0 5.5\ndo")
    inbox = Inbox(reading, Launch(Options(["true"])))
    first = next(iter(inbox))
    os.write(writing, b"ne\n")
    os.close(writing)

    rest = [words[0] for words in inbox]

    assert (["start", "1", "2.5"], ["data", "end", "done"]) == (first, rest)
    os.close(reading)


def test_output_on_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    """What does not fit is told; when there is room again a new line begins, so that no two records become one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (tmp_path / "raw_output.jsonl").open("ab", buffering=0) as file:
        lines = Lines(file)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
            for _ in range(2):
                with pytest.raises(OSError, match="File too large"):
                    lines.store([b"0123456", b"abcdef"], Redactor({}))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

        lines.store([b"next", b"last"], Redactor({}))

    assert b"0123456\nab\nnext\nlast\n" == (tmp_path / "raw_output.jsonl").read_bytes()
