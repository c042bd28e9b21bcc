"""``agent-workflow index``: status, sync, rebuild and verify."""

import os
import shutil
import signal
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_runs import ARCHIVED, DONE, FAILED

from agent_workflow.evidence_schemas import IndexStatus, IndexSyncReport, IndexVerification

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


def _damage(root: Path) -> Path:
    """Break the second line of a journal."""
    journal = root / "runs" / FAILED / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + b"oops\n" + b"".join(lines[2:]))
    return journal


def test_status_before_anything_says_what_to_do(tmp_path: Path, cli: "CommandLine") -> None:
    """No state root is no error: status says what is missing and names the next step."""
    root = tmp_path / "none"
    expected = (
        f"index missing state root {root} database {root}/index/agent-workflow.sqlite3 (none yet) "
        "runs 0 on disk, 0 current next agent-workflow index sync"
    )

    answer = cli.run("index", "status", AGENT_WORKFLOW_STATE_ROOT=str(root))

    assert (0, expected, "") == (answer.code, " ".join(answer.out.split()), answer.err)
    assert not root.exists()


def test_a_question_before_anything_names_the_next_step(tmp_path: Path, cli: "CommandLine") -> None:
    """A missing index exits 1 and says which command makes it, for the same state root."""
    root = tmp_path / "none"

    answer = cli.run("index", "query", "runs", "--state-root", str(root))

    step = f"agent-workflow --state-root {root} index sync"
    assert (1, "", f"agent-workflow: there is no index in {root} yet; run: {step}\n") == answer
    assert not root.exists()


def test_an_empty_state_root_is_filled_by_sync(tmp_path: Path, cli: "CommandLine") -> None:
    """The first sync makes the state root, for its owner only."""
    root = tmp_path / "state"

    synced = cli.run("index", "sync", "--state-root", str(root))
    asked = cli.run("index", "query", "runs", "--state-root", str(root))

    assert (0, "synced: 0 indexed, 0 unchanged\n", "") == synced
    assert (0, "current: 0 current\nno runs\n", "") == asked
    assert 0o700 == stat.S_IMODE(root.stat().st_mode)


def test_the_default_state_root_follows_xdg(cli: "CommandLine", tmp_path: Path) -> None:
    """``XDG_STATE_HOME`` and the home directory say where the state root is."""
    named = cli.run("index", "status", "--json", XDG_STATE_HOME=str(tmp_path / "xdg")).document
    usual = cli.run("index", "status", "--json").document

    assert str(tmp_path / "xdg" / "agent-workflow") == named["state_root"]
    assert str(cli.home / ".local/state/agent-workflow") == usual["state_root"]


def test_reports_are_what_their_contracts_say(root: Path, cli: "CommandLine") -> None:
    """Rebuild, sync, status and verify each print exactly one document of their contract."""
    options = ("--json", "--state-root", str(root))

    rebuilt = IndexSyncReport.model_validate_json(cli.run("index", "rebuild", *options).out)
    synced = IndexSyncReport.model_validate_json(cli.run("index", "sync", *options).out)
    status = IndexStatus.model_validate_json(cli.run("index", "status", *options).out)
    verified = IndexVerification.model_validate_json(cli.run("index", "verify", "--full", *options).out)

    assert (4, 0) == (rebuilt.indexed_count, rebuilt.skipped_count)
    assert (0, 4) == (synced.indexed_count, synced.skipped_count)
    assert ("current", 4) == (status.freshness, status.run_count)
    assert verified.valid


def test_a_fault_is_named_by_file_and_line(indexed: Path, cli: "CommandLine") -> None:
    """A sync says which run, file and line, and what to do next; only with --strict does the exit code speak."""
    _damage(indexed)

    answer = cli.run("index", "sync", AGENT_WORKFLOW_STATE_ROOT=str(indexed))
    strict = cli.run("index", "sync", "--strict", AGENT_WORKFLOW_STATE_ROOT=str(indexed))

    assert [
        "synced: 0 indexed, 3 unchanged",
        "",
        "1 in error",
        f"  {FAILED}",
        "    events.jsonl:2: not JSON: expected value at column 1",
        "  A run in error keeps the others as they are. Mend or remove the named file,",
        "  then sync again:",
        "  agent-workflow index sync",
    ] == answer.lines
    assert (0, 1) == (answer.code, strict.code)
    assert "agent-workflow: 1 in error, and --strict was given\n" == strict.err


def test_sync_looks_at_what_it_is_told_to(root: Path, cli: "CommandLine") -> None:
    """One run, or the active ones alone."""
    options = ("--json", "--state-root", str(root))

    active = cli.run("index", "rebuild", "--active-only", *options).document
    one = cli.run("index", "rebuild", "--run", ARCHIVED, *options).document
    unknown = cli.run("index", "sync", "--run", "nobody", *options)

    assert ARCHIVED not in [run["session_id"] for run in active["indexed"]]
    assert [ARCHIVED] == [run["session_id"] for run in one["indexed"]]
    assert (1, "unknown_run") == (unknown.code, unknown.document["error"]["code"])


def test_verify_exits_1_unless_valid(indexed: Path, cli: "CommandLine") -> None:
    """One changed byte of a source is found by --full, and by the exit code."""
    output = indexed / "runs" / DONE / "output.log"
    output.write_bytes(output.read_bytes().replace(b"12", b"13"))

    shallow = cli.run("index", "verify", "--state-root", str(indexed))
    full = cli.run("index", "verify", "--full", "--state-root", str(indexed))

    assert 0 == shallow.code
    assert 1 == full.code
    assert "index        invalid" == full.lines[0]
    assert any("output.log" in line for line in full.lines)


def test_verify_judges_a_review(indexed: Path, cli: "CommandLine") -> None:
    """With --review the exit code speaks of that run, and every reason against it is told."""
    good = cli.run("index", "verify", "--review", DONE, "--state-root", str(indexed))
    bad = cli.run("index", "verify", "--review", FAILED, "--state-root", str(indexed))
    unknown = cli.run("index", "verify", "--review", "nobody", "--state-root", str(indexed))

    assert (0, f"review       {DONE}: verified") == (good.code, good.lines[-1])
    assert (1, True) == (bad.code, f"review       {FAILED}: unsealed" in bad.lines)
    assert "what speaks against the review" in bad.lines
    assert 1 == unknown.code


def test_an_unsafe_state_root_is_refused(tmp_path: Path, root: Path, cli: "CommandLine") -> None:
    """A link or a root that others may write exits 3 with the command that mends it."""
    link = tmp_path / "link"
    link.symlink_to(root)
    root.chmod(0o777)

    linked = cli.run("index", "sync", "--state-root", str(link))
    shared = cli.run("index", "sync", "--state-root", str(root))

    assert 3 == linked.code
    assert (3, "", f"agent-workflow: {root} is writable by others; run: chmod go-w {root}\n") == shared


def test_a_foreign_database_is_refused(indexed: Path, cli: "CommandLine") -> None:
    """Another program's database exits 3 and stays what it is."""
    database = indexed / "index" / "agent-workflow.sqlite3"
    database.unlink()
    with sqlite3.connect(database) as other:
        other.execute("PRAGMA application_id = 42")
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = database.read_bytes()

    answer = cli.run("index", "rebuild", "--json", "--state-root", str(indexed))

    assert (3, "foreign_database", str(database)) == (
        answer.code,
        answer.document["error"]["code"],
        answer.document["error"]["path"],
    )
    assert before == database.read_bytes()


def test_a_root_that_takes_no_writes_can_still_be_asked(indexed: Path, cli: "CommandLine") -> None:
    """On a read-only state root status and questions work; a sync says what stands in its way."""
    prefix = _bound_by_permissions()
    if prefix is None:
        pytest.skip("running as root without setpriv: permissions do not bind")
    for directory in (indexed / "index", indexed):
        directory.chmod(0o500)

    try:
        status = cli.run("index", "status", "--state-root", str(indexed), prefix=prefix)
        asked = cli.run("index", "query", "runs", "--state-root", str(indexed), prefix=prefix)
        synced = cli.run("index", "sync", "--json", "--state-root", str(indexed), prefix=prefix)
    finally:
        for directory in (indexed, indexed / "index"):
            directory.chmod(0o700)

    assert (0, 0) == (status.code, asked.code)
    # index/ belongs to us, so a writer sets it to 0700 again; what it must not do is fail without a sentence.
    assert synced.code == 0 or (1, "not_writable") == (synced.code, synced.document["error"]["code"])


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where not even root can make a directory")
def test_a_place_that_cannot_be_made_is_said(cli: "CommandLine") -> None:
    """Where no state root can be made, the line says so and the exit code is 1."""
    answer = cli.run("index", "sync", "--json", "--state-root", "/proc/agent-workflow-state")

    assert (1, "not_writable") == (answer.code, answer.document["error"]["code"])
    assert answer.document["error"]["path"] == "/proc/agent-workflow-state"
    assert 1 == len(answer.err.splitlines())


def test_an_empty_state_root_option_is_a_wrong_call(cli: "CommandLine") -> None:
    """An empty name, for example of an unset variable, never means the working directory."""
    answer = cli.run("index", "sync", "--state-root", "")

    assert (2, "", "agent-workflow: --state-root is empty; name a directory\n") == answer
    assert [] == list(cli.home.iterdir())


def test_progress_is_for_terminals_and_gone_at_the_end(root: Path, cli: "CommandLine") -> None:
    """Behind pipes nothing is drawn, and in a terminal the last thing to see is the report."""
    for number in range(60):
        run = root / "runs" / f"copy-{number}"
        run.mkdir()
        (run / "notes.jsonl").write_bytes(b'{"kind": "note"}\n' * 4000)

    piped = cli.run("index", "rebuild", "--state-root", str(root))
    seen = cli.run_in_terminal(80, "index", "rebuild", "--state-root", str(root))

    assert "" == piped.err
    drawn, _, report = seen.out.rpartition("\r" + " " * 10)
    assert drawn == "" or "indexed " in drawn
    assert report.strip().startswith("rebuilt: 64 indexed")


def test_ctrl_c_is_one_line(root: Path, cli: "CommandLine") -> None:
    """An interrupted call exits 130 without a traceback."""
    lock = root / "index"
    lock.mkdir(mode=0o700)
    blocker = _hold_the_lock(lock)
    process = cli.start("index", "sync", "--state-root", str(root))
    try:
        _wait_until_it_waits(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=240)
    finally:
        os.close(blocker)

    assert (130, "", "agent-workflow: interrupted; what was indexed so far is whole\n") == (
        process.returncode,
        out,
        err,
    )


def _hold_the_lock(index: Path) -> int:
    import fcntl

    descriptor = os.open(index / "index.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _wait_until_it_waits(pid: int) -> None:
    """Wait until a process has the lock's file open."""
    import time

    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        try:
            names = [link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            names = []
        if "index.lock" in names:
            return
        time.sleep(0.05)
    raise AssertionError("the process never came to the lock")


def _bound_by_permissions() -> tuple[str, ...] | None:
    """Return what to put before a command so that permissions bind it; None where that cannot be had."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    dropped = "-dac_override,-dac_read_search"
    return None if setpriv is None else (setpriv, f"--bounding-set={dropped}", f"--inh-caps={dropped}")
