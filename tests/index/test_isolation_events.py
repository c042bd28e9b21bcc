"""What is no lasting damage but an event: a run that vanishes, a lock, a name, a twin, a permission."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agent_workflow import index_store

from .evidence_documents import session_status
from .evidence_files import EvidenceRoot, encode
from .evidence_journals import incident_event
from .evidence_runs import write_host, write_live_run
from .index_reading import dump_of_others, everything_said_about, row_of, rows_of
from .like_a_rebuild import assert_like_a_rebuild
from .test_isolation_journals import JOURNAL

NOBODY = 65534


# Vanishing while it is looked at.

Vanish = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def when_opened(monkeypatch: pytest.MonkeyPatch) -> Vanish:
    """Return what lets something happen just before a file or directory of some name is opened, once."""
    really_open = os.open

    def arrange(name: str, event: Callable[[], object]) -> None:
        pending = [event]

        def open_after_event(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if path == name and pending:
                pending.pop()()
            return really_open(path, flags, mode, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", open_after_event)

    return arrange


def test_a_run_that_vanishes_before_it_is_opened_takes_no_other_with_it(
    indexed: EvidenceRoot, when_opened: Vanish
) -> None:
    """A run deleted between listing and opening is gone from the index, and the others stay."""
    run = indexed.run("live-run")
    before = dump_of_others(indexed.database, run.session_id)
    run.write("heartbeat.json", {"schema": "agent-workflow/heartbeat/v2", "at": "", "executor_pid": 1, "runner_pid": 2})
    when_opened(run.session_id, lambda: shutil.rmtree(run.path))

    index_store.sync(indexed.path)

    assert before == dump_of_others(indexed.database, run.session_id)
    assert rows_of(indexed.database, "runs", "session_id = ?", run.session_id) == []
    assert_like_a_rebuild(indexed)


@pytest.mark.parametrize("action", [index_store.sync, index_store.rebuild], ids=["sync", "rebuild"])
def test_a_file_that_vanishes_before_it_is_read_takes_no_other_run_with_it(
    indexed: EvidenceRoot, when_opened: Vanish, action: Callable[[Path], object]
) -> None:
    """A journal deleted between scan and reading leaves the others; the next sync has the rows of a rebuild."""
    run = indexed.run("live-run")
    before = dump_of_others(indexed.database, run.session_id)
    run.append(JOURNAL, incident_event(run.session_id, 70))
    when_opened(JOURNAL, (run.path / JOURNAL).unlink)

    action(indexed.path)

    assert before == dump_of_others(indexed.database, run.session_id)
    index_store.sync(indexed.path)
    assert index_store.sync(indexed.path).errors == ()
    assert_like_a_rebuild(indexed)


def test_a_run_that_vanishes_while_it_is_read_takes_no_other_with_it(
    indexed: EvidenceRoot, when_opened: Vanish
) -> None:
    """A run deleted while its sources are read leaves the others; the next sync has forgotten it."""
    run = indexed.run("live-run")
    before = dump_of_others(indexed.database, run.session_id)
    run.append(JOURNAL, incident_event(run.session_id, 70))
    when_opened(JOURNAL, lambda: shutil.rmtree(run.path))

    index_store.sync(indexed.path)

    assert before == dump_of_others(indexed.database, run.session_id)
    index_store.sync(indexed.path)
    assert rows_of(indexed.database, "runs", "session_id = ?", run.session_id) == []
    assert_like_a_rebuild(indexed)


def test_a_directory_swapped_for_a_link_between_scan_and_reading_is_not_followed(
    indexed: EvidenceRoot, when_opened: Vanish, tmp_path: Path
) -> None:
    """A directory of the run that becomes a link after it was scanned brings nothing in from outside."""
    run = indexed.run("live-run")
    run.write("more/incident-events.jsonl", encode(incident_event(run.session_id, 70)))
    index_store.sync(indexed.path)
    before = dump_of_others(indexed.database, run.session_id)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / JOURNAL).write_bytes(encode(incident_event(run.session_id, 71, summary="brought in from outside")))
    run.append("more/incident-events.jsonl", incident_event(run.session_id, 72))

    def swap() -> None:
        shutil.rmtree(run.path / "more")
        (run.path / "more").symlink_to(outside)

    when_opened("assignments.jsonl", swap)
    index_store.sync(indexed.path)

    assert before == dump_of_others(indexed.database, run.session_id)
    assert rows_of(indexed.database, "incident_events", "summary = 'brought in from outside'") == []
    assert "more" in everything_said_about(indexed.database, run.session_id)


def test_a_run_that_another_process_keeps_locked_waits_alone(indexed: EvidenceRoot) -> None:
    """A journal whose writer does not let go of its lock costs that run a turn, and no other run anything."""
    run = indexed.run("live-run")
    before = dump_of_others(indexed.database, run.session_id)
    run.append(JOURNAL, incident_event(run.session_id, 70))
    with (run.path / JOURNAL).open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        index_store.sync(indexed.path)

    assert before == dump_of_others(indexed.database, run.session_id)
    assert JOURNAL in everything_said_about(indexed.database, run.session_id)
    assert index_store.sync(indexed.path).errors == ()
    assert_like_a_rebuild(indexed)


# What stands beside the runs.


@pytest.mark.parametrize("name", ["-run", "_run", "two words", "a" * 129, "läuft", "run:1", "run\nline", "run\x1b[2J"])
def test_a_directory_whose_name_is_no_id_is_a_notice_that_names_it(indexed: EvidenceRoot, name: str) -> None:
    """A directory that cannot be a run changes no row of a run, and a notice says where it is."""
    before = dump_of_others(indexed.database, "live-run-that-nobody-has")
    (indexed.path / "runs" / name).mkdir()
    (indexed.path / "runs" / name / "status.json").write_bytes(encode(session_status("x")))

    index_store.sync(indexed.path)

    notices = rows_of(indexed.database, "notices", "session_id IS NULL")
    after = dump_of_others(indexed.database, "live-run-that-nobody-has")
    assert before | {"notices": []} == after | {"notices": []}
    assert len(notices) == 1
    shown = name.encode("unicode_escape").decode() if not name.isprintable() else name
    assert f"runs/{shown}" in str(notices[0]["source_path"])


def test_a_directory_whose_name_is_no_text_is_a_notice(indexed: EvidenceRoot) -> None:
    """A name that is no UTF-8 is told in a form that can be stored and shown."""
    os.mkdir(os.fsencode(indexed.path / "runs") + b"/\xff-run")  # noqa: PTH102 -- a name pathlib cannot spell

    index_store.sync(indexed.path)

    (notice,) = rows_of(indexed.database, "notices", "session_id IS NULL")
    assert str(notice["source_path"]).isprintable()
    assert "-run" in str(notice["source_path"])


def test_a_run_directory_replaced_by_a_file_is_told(indexed: EvidenceRoot) -> None:
    """A file in the place of a run is reported by its path, and the other runs stay."""
    run = indexed.run("live-run")
    before = dump_of_others(indexed.database, run.session_id)
    shutil.rmtree(run.path)
    run.path.write_text("was a run")

    index_store.sync(indexed.path)

    assert before == dump_of_others(indexed.database, run.session_id)
    assert "runs/live-run" in everything_said_about(indexed.database, run.session_id)
    run.path.unlink()
    write_live_run(indexed.run("live-run"))
    assert index_store.sync(indexed.path).errors == ()
    assert_like_a_rebuild(indexed)


def test_an_active_run_wins_over_its_archived_twin(indexed: EvidenceRoot) -> None:
    """With one id in both places the active run counts, is one row, and a notice says that there are two."""
    archived = indexed.run("live-run", archived=True)
    archived.write("status.json", session_status("live-run", status="failed"))
    before = dump_of_others(indexed.database, "live-run")

    index_store.sync(indexed.path)

    run = row_of(indexed.database, "runs", "session_id = 'live-run'")
    assert (run["storage_class"], run["source_dir"], run["durable_status"]) == ("active", "runs/live-run", "running")
    assert before == dump_of_others(indexed.database, "live-run")
    assert_like_a_rebuild(indexed)


def test_a_damaged_archived_twin_does_not_harm_the_active_run(indexed: EvidenceRoot) -> None:
    """What is wrong with the archived run of the same id leaves the active one current."""
    archived = indexed.run("live-run", archived=True)
    archived.write("status.json", b"{not json")
    (archived.path / "x.json").symlink_to("/etc/hostname")

    index_store.sync(indexed.path)

    assert row_of(indexed.database, "runs", "session_id = 'live-run'")["index_state"] == "current"
    assert_like_a_rebuild(indexed)


def test_a_damaged_active_run_is_not_covered_up_by_its_archived_twin(indexed: EvidenceRoot) -> None:
    """An active run that is bad is an error, although a good run of the same id lies in the archive."""
    shutil.copytree(indexed.run("live-run").path, indexed.path / "archive" / "live-run")
    indexed.run("live-run").write("status.json", b"{not json")

    index_store.sync(indexed.path)

    run = row_of(indexed.database, "runs", "session_id = 'live-run'")
    assert (run["index_state"], run["storage_class"]) == ("error", "active")
    assert_like_a_rebuild(indexed)


def test_a_damaged_repair_leaves_every_run_and_the_other_repairs(host: EvidenceRoot) -> None:
    """A repair that does not verify is an error by its path; no run's row and no other repair changes."""
    shutil.copytree(host.path / "evidence-repairs" / "repair-one", host.path / "evidence-repairs" / "repair-two")
    index_store.rebuild(host.path)
    errors = rows_of(host.database, "index_errors")

    assert [row["repair_id"] for row in rows_of(host.database, "evidence_repairs")] == ["repair-one"]
    assert [error["session_id"] for error in errors] == [None]
    assert "evidence-repairs/repair-two/" in str(errors[0]["source_path"])
    assert {"current"} == {row["index_state"] for row in rows_of(host.database, "runs")}


def test_a_broken_seal_takes_its_repair_along_and_nothing_else(indexed: EvidenceRoot) -> None:
    """A repair of a run whose seal broke is no longer projected, and comes back with the run."""
    run = indexed.run("archived-run", archived=True)
    before = dump_of_others(indexed.database, run.session_id)
    run.write("prompt.md", "another prompt\n", mode=0o444)
    index_store.sync(indexed.path)
    broken = rows_of(indexed.database, "evidence_repairs")
    others = dump_of_others(indexed.database, run.session_id)
    run.write("prompt.md", "prompt.md of archived-run\n", mode=0o444)

    index_store.sync(indexed.path)

    assert broken == []
    assert before["runs"] == others["runs"]
    assert [row["repair_id"] for row in rows_of(indexed.database, "evidence_repairs")] == ["repair-one"]
    assert_like_a_rebuild(indexed)


# Permissions.


@pytest.fixture
def sync_as_nobody(tmp_path_factory: pytest.TempPathFactory) -> Callable[[EvidenceRoot], dict[str, object]]:
    """Return what syncs a state root as a user whom permissions stop, and gives back the report."""

    def sync(root: EvidenceRoot) -> dict[str, object]:
        if os.geteuid() == 0:
            for path in [root.path, *root.path.rglob("*")]:
                if path.lstat().st_uid != NOBODY:
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        warm = write_host(tmp_path_factory.mktemp("warm") / "state")
        script = Path(__file__).with_name("unprivileged_sync.py")
        command = [sys.executable, str(script), str(NOBODY), str(warm.path), str(root.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)

        assert (done.stderr, done.returncode) == ("", 0)
        report: dict[str, object] = json.loads(done.stdout)
        return report

    return sync


@pytest.fixture
def host_of_nobody() -> Iterator[EvidenceRoot]:
    """Return a state root in a place that another user can reach; pytest's own places are closed to them."""
    with TemporaryDirectory() as place:
        Path(place).chmod(0o711)
        yield write_host(Path(place) / "state")


@pytest.mark.parametrize(
    ("path", "told", "rights"),
    [
        ("status.json", "status.json", 0),
        (JOURNAL, JOURNAL, 0),
        ("more", "more", 0),
        ("more", "more", 0o600),
        (".", "runs/live-run", 0),
        (".", "runs/live-run", 0o600),
    ],
    ids=["document", "journal", "directory", "listed directory", "run directory", "listed run directory"],
)
def test_what_may_not_be_read_is_told_and_harms_no_other_run(
    host_of_nobody: EvidenceRoot,
    sync_as_nobody: Callable[[EvidenceRoot], dict[str, object]],
    path: str,
    told: str,
    rights: int,
) -> None:
    """What may not be read, or be listed and not entered, is that run's error; with the permission all is well."""
    root = host_of_nobody
    run = root.run("live-run")
    run.write("more/x.json", {"free": "form"})
    sync_as_nobody(root)
    before = dump_of_others(root.database, run.session_id)
    mode = (run.path / path).stat().st_mode & 0o777
    (run.path / path).chmod(rights)

    sync_as_nobody(root)

    assert before == dump_of_others(root.database, run.session_id)
    assert row_of(root.database, "runs", "session_id = ?", run.session_id)["index_state"] == "error"
    assert told in everything_said_about(root.database, run.session_id)
    (run.path / path).chmod(mode)
    assert sync_as_nobody(root)["error_count"] == 0
