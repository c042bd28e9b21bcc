"""Records, documents and seals of a run directory: whole or not at all, by one writer at a time."""

import errno
import hashlib
import json
import math
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_workflow.evidence_schemas import FinalReceipt, LifecycleEvent
from agent_workflow.tracer.evidence import (
    EvidenceError,
    RunIsBusy,
    RunIsSealed,
    UnsafeStateRoot,
    append_lifecycle_locked,
    append_record,
    is_sealed,
    run_lock,
    runs_directory,
    seal_run,
    state_root,
    write_document,
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Make an empty run directory in a state root."""
    directory = runs_directory(tmp_path / "state", create=True) / "run1"
    directory.mkdir(mode=0o700)
    return directory


def move(directory: Path, new: str) -> None:
    """Append a lifecycle event."""
    with run_lock(directory):
        append_lifecycle_locked(
            directory, dimension="execution", prior=None, new=new, actor="test", reason="because", at="2026-01-01"
        )


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("environment", "configured", "expected"),
    [
        ({"AGENT_WORKFLOW_STATE_ROOT": "/chosen", "XDG_STATE_HOME": "/xdg"}, Path("/configured"), "/chosen"),
        ({"XDG_STATE_HOME": "/xdg"}, Path("/configured"), "/configured"),
        ({"XDG_STATE_HOME": "/xdg"}, None, "/xdg/agent-workflow"),
        ({"XDG_STATE_HOME": "relative"}, None, str(Path.home() / ".local/state/agent-workflow")),
        ({"AGENT_WORKFLOW_STATE_ROOT": ""}, None, str(Path.home() / ".local/state/agent-workflow")),
    ],
)
def test_state_root(environment: dict[str, str], configured: Path | None, expected: str) -> None:
    """The environment's word comes first, then the configuration's, then the standard place; nothing is made."""
    assert Path(expected) == state_root(configured, environment)


def test_a_new_state_root_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Whatever the umask, the root and its runs are 0700."""
    before = os.umask(0)
    try:
        runs = runs_directory(tmp_path / "a/b/state", create=True)
    finally:
        os.umask(before)

    assert (0o700, 0o700) == (mode(runs), mode(runs.parent))


@pytest.mark.parametrize("place", ["root", "runs"])
@pytest.mark.parametrize("fault", ["writable", "link", "file"])
def test_an_unsafe_state_root_is_refused(tmp_path: Path, place: str, fault: str) -> None:
    """What others may write, a link or a file is not used; a root that may be read by others is."""
    root = tmp_path / "state"
    bad = root if place == "root" else root / "runs"
    bad.parent.mkdir(exist_ok=True)
    if fault == "writable":
        bad.mkdir()
        bad.chmod(0o720)
    elif fault == "link":
        (tmp_path / "elsewhere").mkdir()
        bad.symlink_to(tmp_path / "elsewhere")
    else:
        bad.touch()

    with pytest.raises(UnsafeStateRoot):
        runs_directory(root, create=True)


def test_a_record_is_one_private_line(run: Path) -> None:
    """Whatever is in it, a record is one line of ASCII in a file of mode 0600."""
    append_record(run, "health.jsonl", {"text": "a\nb\u2028\ud800", "n": 1})
    append_record(run, "health.jsonl", {"n": 2})

    lines = (run / "health.jsonl").read_bytes().split(b"\n")
    assert [{"text": "a\nb\u2028\ud800", "n": 1}, {"n": 2}] == [json.loads(line) for line in lines[:-1]]
    assert b"" == lines[-1]
    assert 0o600 == mode(run / "health.jsonl")


@pytest.mark.parametrize("name", ["../other.jsonl", "a/b.jsonl", ".hidden.jsonl", "plain.json", ""])
def test_a_journal_lies_in_its_run(run: Path, name: str) -> None:
    """A name that leads elsewhere is refused."""
    with pytest.raises(ValueError, match="names no file"):
        append_record(run, name, {})


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_what_json_cannot_hold_is_refused(run: Path, value: object) -> None:
    """Nothing is written then."""
    with pytest.raises((ValueError, TypeError)):
        append_record(run, "a.jsonl", {"value": value})
    with pytest.raises((ValueError, TypeError)):
        write_document(run, "a.json", {"value": value})

    assert [] == list(run.iterdir())


@pytest.mark.parametrize(("tail", "kept"), [(b'{"n": 1', []), (b'{"n": 1}', [{"n": 1}])])
def test_a_torn_tail_is_mended_before_the_next_record(run: Path, tail: bytes, kept: list[object]) -> None:
    """Half a record is set aside, a whole one without its newline gets it."""
    (run / "a.jsonl").write_bytes(b'{"n": 0}\n' + tail)

    append_record(run, "a.jsonl", {"n": 2})

    lines = (run / "a.jsonl").read_bytes().split(b"\n")
    assert [{"n": 0}, *kept, {"n": 2}] == [json.loads(line) for line in lines[:-1]]
    assert (not kept) == (run / "a.jsonl.torn").exists()


def test_a_link_is_never_written_through(run: Path, tmp_path: Path) -> None:
    """A journal that is a link to somewhere else is refused; a document replaces the link."""
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (run / "a.jsonl").symlink_to(outside)
    (run / "a.json").symlink_to(outside)

    with pytest.raises(EvidenceError):
        append_record(run, "a.jsonl", {})
    write_document(run, "a.json", {"n": 1})

    assert "mine" == outside.read_text()
    assert {"n": 1} == json.loads((run / "a.json").read_bytes())
    assert 0o600 == mode(run / "a.json")


def test_a_record_that_does_not_fit_is_taken_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short write leaves the journal as it was."""
    append_record(run, "a.jsonl", {"n": 1})
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:4]))

    with pytest.raises(EvidenceError, match="no space"):
        append_record(run, "a.jsonl", {"n": 2})

    assert b'{"n":1}\n' == (run / "a.jsonl").read_bytes()


def test_a_document_that_cannot_be_written_leaves_the_old_one(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves what was there, and nothing beside it."""
    write_document(run, "status.json", {"n": 1})

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)

    with pytest.raises(EvidenceError, match="No space"):
        write_document(run, "status.json", {"n": 2})

    assert {"n": 1} == json.loads((run / "status.json").read_bytes())
    assert ["status.json"] == [path.name for path in run.iterdir()]


def test_one_writer_at_a_time(run: Path) -> None:
    """Who comes second waits, and says so when it takes too long."""
    with run_lock(run), pytest.raises(RunIsBusy), run_lock(run, seconds=0.05):
        pass
    with run_lock(run):
        pass


def test_the_next_lifecycle_event_has_the_next_number(run: Path) -> None:
    """Whoever appends, from whatever thread, the sequence has no gap and no repetition."""
    threads = [threading.Thread(target=move, args=(run, f"state{n}")) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = (run / "events.jsonl").read_bytes().split(b"\n")[:-1]
    events = [LifecycleEvent.model_validate_json(line) for line in lines]
    assert list(range(1, 13)) == [event.sequence for event in events]


def test_a_torn_lifecycle_event_does_not_count(run: Path) -> None:
    """The number follows the newest whole one."""
    move(run, "running")
    with (run / "events.jsonl").open("ab") as stream:
        stream.write(b'{"sequence": 7, "ti')

    move(run, "completed")

    assert [1, 2] == [json.loads(line)["sequence"] for line in (run / "events.jsonl").read_bytes().split(b"\n")[:-1]]


def test_a_seal_lists_everything_and_nothing_changes_after_it(run: Path) -> None:
    """Files in folders too, links not; read-only; a second seal, a record or a document is refused."""
    move(run, "running")
    write_document(run, "status.json", {"n": 1})
    (run / "collections").mkdir()
    (run / "collections/a.bin").write_bytes(bytes(range(256)) * 9000)
    (run / "link").symlink_to("/etc/passwd")

    assert seal_run(run)

    receipt = FinalReceipt.model_validate_json((run / "final-receipt.json").read_bytes())
    found = {item.path: (item.size, item.sha256) for item in receipt.artifacts}
    files = [path for path in run.rglob("*") if path.is_file() and not path.is_symlink()]
    contents = {str(path.relative_to(run)): path.read_bytes() for path in files if path.name != "final-receipt.json"}
    assert {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in contents.items()} == found
    assert {0o444} == {mode(path) for path in files}
    assert not seal_run(run)
    with pytest.raises(RunIsSealed):
        append_record(run, "events.jsonl", {})
    with pytest.raises(RunIsSealed):
        write_document(run, "status.json", {})


def test_a_sealer_that_was_killed_hinders_nobody(run: Path) -> None:
    """Files that it made read-only take records again, its half receipt is removed, and the seal holds."""
    move(run, "running")
    (run / "events.jsonl").chmod(0o444)
    (run / ".final-receipt.json.12345.new").write_bytes(b"{")

    move(run, "failed")
    assert not is_sealed(run)
    assert seal_run(run)

    listed = [item["path"] for item in json.loads((run / "final-receipt.json").read_bytes())["artifacts"]]
    assert ["events.jsonl"] == listed
    assert ["events.jsonl", "final-receipt.json"] == sorted(path.name for path in run.iterdir())


def test_a_file_that_changes_meanwhile_makes_no_seal(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who writes without the lock, to a file opened long ago, must not make a seal that does not hold."""
    move(run, "running")
    write_document(run, "status.json", {})
    real = os.fsync

    with (run / "events.jsonl").open("ab", buffering=0) as stream:

        def meddle(descriptor: int) -> None:
            real(descriptor)
            if os.fstat(descriptor).st_ino == (run / "status.json").stat().st_ino:
                stream.write(b"more\n")

        monkeypatch.setattr(os, "fsync", meddle)

        with pytest.raises(EvidenceError, match="changed while"):
            seal_run(run)

    assert not is_sealed(run)


def test_an_empty_run_is_not_sealed(run: Path) -> None:
    """A receipt of nothing would say that all is well."""
    with pytest.raises(EvidenceError, match="nothing to seal"):
        seal_run(run)


def test_importing_it_brings_nothing_heavy() -> None:
    """A supervisor and a workflow load it in every process."""
    program = (
        "import sys; from agent_workflow.tracer.evidence import append_record, seal_run, state_root;"
        "print([m for m in ('pydantic', 'yaml', 'sqlite3', 'subprocess') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
