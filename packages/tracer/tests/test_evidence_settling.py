"""Where a session is published is remembered beside it, and what was left behind is found without looking at all."""

import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer import Run, ensure, load_config
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._replay import session_lock
from agent_workflow.tracer.evidence import _finalizing, is_sealed
from agent_workflow.tracer.evidence._claiming import claim, fill_running, free_names, remove_left_behind
from agent_workflow.tracer.evidence._finalizing import settle
from agent_workflow.tracer.evidence._publications import (
    Publication,
    publications,
    remember,
    unsealed_marker,
    unsealed_sessions,
)

MOMENT = "2026-01-01T00:00:00.000+00:00"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionFiles:
    """Make an empty session in a repository, beside a state root."""
    monkeypatch.setenv("AGENT_WORKFLOW_STATE_ROOT", str(tmp_path / "state"))
    made = SessionFiles.of(tmp_path / "data", "run1")
    made.create()
    (tmp_path / "state/runs").mkdir(parents=True)
    return made


def publication(files: SessionFiles, name: str = "run1") -> Publication:
    """Make up where a session is published."""
    return Publication(str(files.directory.parents[2] / "state"), name, "x.py", MOMENT)


def settled(files: SessionFiles) -> tuple[bool, list[str]]:
    """Settle a session; return whether a run was sealed, and what was told."""
    told: list[str] = []
    return settle(files, reason="gone", actor="test", warn=told.append), told


def test_what_is_remembered(files: SessionFiles) -> None:
    """All runs of a session are listed, the newest last; keys of a newer version are no harm, damage is none at all."""
    runs = [publication(files), publication(files, "run1-2")]
    remember(files, runs)
    assert runs == publications(files)
    assert [files] == unsealed_sessions(files.directory.parents[1])

    text = (files.directory / "evidence.json").read_text()
    (files.directory / "evidence.json").write_text(text.replace('"session_id"', '"new": 1, "session_id"'))
    assert runs == publications(files)
    for damaged in ("", "[]", '{"runs": 1}', '{"runs": [1, {}, {"session_id": 7}]}', text.replace("0", '"x"')):
        (files.directory / "evidence.json").write_text(damaged)
        assert [] == publications(files)


def test_a_run_that_never_began_is_forgotten(files: SessionFiles) -> None:
    """Its workflow was killed between the intent and the claim, or just after; an empty directory goes as well."""
    for is_claimed in (False, True):
        remember(files, [publication(files)])
        if is_claimed:
            publication(files).directory.mkdir()

        assert (False, []) == settled(files)

        assert not publication(files).directory.exists()
        assert not unsealed_marker(files).exists()


def test_another_session_of_the_name_is_left_alone(files: SessionFiles) -> None:
    """The intent was not followed by a claim: the name was somebody else's by then."""
    remember(files, [publication(files)])
    trace = {"adw_id": "run1", "database": "/db", "session_directory": "/elsewhere/sessions/run1"}
    launch: dict[str, Any] = {
        "schema": "agent-workflow/traced-launch-contract/v1",
        "session": {"id": "run1", "created_at": MOMENT},
        "workflow": {"name": "x"},
        "worktree": {"path": "/elsewhere"},
        "runner": {"pid": 2**22 + 1, "start_marker": "linux:another-boot:1"},
        "trace": trace,
    }
    assert claim(publication(files).directory, partial(fill_running, launch, {"created_at": MOMENT}))

    assert (False, []) == settled(files)

    assert not is_sealed(publication(files).directory)
    assert not unsealed_marker(files).exists()


def test_a_session_that_is_just_claiming_keeps_its_mark(files: SessionFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between intent and claim its lock is held, on a slow disk for long: who looks then takes nothing back.

    Nothing is wrong either, so nothing is told.
    """
    monkeypatch.setattr(_finalizing, "LOCK_SECONDS", 0.05)
    with session_lock(files):
        remember(files, [publication(files)])

        assert (False, []) == settled(files)

    assert unsealed_marker(files).exists()


def test_a_repository_without_the_session(files: SessionFiles) -> None:
    """A mark whose session was deleted is taken away, and the session does not come back."""
    remember(files, [publication(files)])
    for path in files.directory.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    files.directory.rmdir()

    assert (False, []) == settled(files)

    assert not unsealed_marker(files).exists()
    assert not files.directory.exists()


def test_free_names(files: SessionFiles) -> None:
    """The session's id, then with a digest of where the repository keeps it, then with a number."""
    runs = files.directory.parents[2] / "state/runs"
    names = []
    for name in free_names(runs, files):
        names.append(name)
        (runs / name).mkdir()
        if len(names) == 4:
            break

    plain, longer, third, fourth = names
    assert "run1" == plain
    assert longer.startswith("run1-")
    assert [f"{longer}-2", f"{longer}-3"] == [third, fourth]


def test_the_longest_id_has_names_too(tmp_path: Path) -> None:
    """Every name can be a directory of the state root."""
    files = SessionFiles.of(tmp_path, "x" * 128)
    runs = tmp_path / "runs"
    (runs / ("x" * 128)).mkdir(parents=True)

    assert 128 >= len(next(free_names(runs, files)))


def test_claiming_is_exclusive_and_leaves_nothing(files: SessionFiles) -> None:
    """Who comes second is told so, and what it had prepared is gone."""
    directory = publication(files).directory

    assert claim(directory, partial(fill_running, {"n": 1}, {"created_at": MOMENT}))
    assert not claim(directory, partial(fill_running, {"n": 2}, {"created_at": MOMENT}))

    assert ["run1"] == [path.name for path in directory.parent.iterdir()]
    assert b'"n": 1' in (directory / "launch-contract.json").read_bytes()


def test_what_others_are_filling_is_left_to_them(files: SessionFiles) -> None:
    """A directory that gets its name while it is looked at is nobody's fault, and nothing to remove."""
    runs = publication(files).directory.parent
    for n in range(500):  # the system tells names in batches: what is among them may have gone when its turn comes
        (runs / f"run{n}").mkdir()
    is_over = threading.Event()

    def fill() -> None:
        while not is_over.is_set():
            (runs / ".claiming-x").mkdir()
            (runs / ".claiming-x").rename(runs / "named")
            (runs / "named").rmdir()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for _ in range(600):
            remove_left_behind(runs)
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)

    assert 500 == len(list(runs.iterdir()))


def test_a_whole_run(files: SessionFiles, tmp_path: Path) -> None:
    """A run that finishes leaves a sealed directory and no mark."""
    (tmp_path / "sssf.config.yaml").write_text("defaults: {data_dir: data}\nobservability: {db: data/sssf.db}\n")

    run: Run = ensure(load_config(tmp_path / "sssf.config.yaml"), "run2")
    during = unsealed_marker(run.files).exists()
    code = run.finish()

    assert (0, True) == (code, during)
    assert is_sealed(tmp_path / "state/runs/run2")
    assert not unsealed_marker(run.files).exists()
