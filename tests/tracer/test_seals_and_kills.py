"""A seal is the last thing that appears, holds for every bit, and is put once, whoever is killed at whatever moment."""

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from published import document, moves, verified
from tracer_lab import ROOT, Project

from agent_workflow.index_store import sync, verify
from agent_workflow.tracer.evidence import (
    NotTraced,
    RunIsAlive,
    append_record,
    append_record_locked,
    finalize_lost,
    is_sealed,
    seal_run,
)

FINISH = 'with phase("work"):\n    pass\nsys.exit(run.finish())\n'
KILLED = 'with phase("work"):\n    os.kill(os.getpid(), signal.SIGKILL)\n'


def finalize(run: Path, **options: object) -> bool:
    """Finalize a run as a supervisor does."""
    return finalize_lost(run, reason="its process is gone", actor="supervisor", warn=print, **options)  # type: ignore[arg-type] # whatever the test hands over


@pytest.mark.timeout(900)  # a hundred runs, and each of their seals is looked at again
@pytest.mark.parametrize("what", ["publish", "finalize"])
def test_killed_at_every_step(project: Project, what: str) -> None:
    """Killed before any step there is no seal or a good one; the next workflow completes and seals all of them."""
    program = ROOT / "tests/tracer/lab/kill_at_every_step.py"
    command = [sys.executable, str(program), what]
    done = subprocess.run(command, cwd=project.root, env=project.environment, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    verdicts = json.loads(done.stdout)

    last = project.run(FINISH, "last")

    assert "wrong" not in verdicts
    assert "sealed" == verdicts[-1]
    assert 40 < len(verdicts)
    assert [] == [at for at, word in enumerate(verdicts[:-1]) if word == "sealed" and verdicts[at + 1] != "sealed"]
    assert (0, "") == (last.code, last.err)
    rows = verified(project.state_root)
    unpublished = sum(word == "unpublished" for word in verdicts)
    assert len(verdicts) - unpublished + 1 == len(rows)
    assert [] == list((project.data_dir / "unsealed").iterdir())


def test_one_flipped_bit_is_found_anywhere(project: Project) -> None:
    """Whatever file of a sealed run changes by one bit, verification names it."""
    project.run(FINISH, "run1")
    verified(project.state_root)
    run = project.published("run1")
    names = sorted(path.name for path in run.iterdir())

    found = {}
    for name in names:
        for position in (0, -1):
            path = run / name
            data = bytearray(path.read_bytes())
            data[position] ^= 1
            replace(path, bytes(data))
            found[name] = [mismatch.path for mismatch in verify(project.state_root, full=True).source_mismatches]
            assert name in found[name], (name, position)
            data[position] ^= 1
            replace(path, bytes(data))

    assert len(names) == len(found) == 8
    assert verify(project.state_root, full=True).valid


def replace(path: Path, data: bytes) -> None:
    """Change a read-only file in place."""
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(0o444)


@pytest.mark.parametrize("name", ["final-status.json", "process-result.json", "events.jsonl"])
def test_a_seal_that_lacks_something_does_not_hold(project: Project, name: str) -> None:
    """A receipt that does not list what the launch contract requires is no seal."""
    project.is_tampered_with = True
    project.run(FINISH, "run1")
    run = project.published("run1")
    receipt = document(run, "final-receipt.json")
    receipt["artifacts"] = [item for item in receipt["artifacts"] if item["path"] != name]
    replace(run / "final-receipt.json", json.dumps(receipt).encode())

    (error,) = sync(project.state_root).errors
    assert name in error.error


def lose(project: Project, adw_id: str = "run1") -> Path:
    """Leave a run whose workflow was killed."""
    assert -9 == project.run(KILLED, adw_id).code
    return project.published(adw_id)


def test_finalizing_again_changes_nothing(project: Project) -> None:
    """The first one closes trace and run; whoever comes later finds it done."""
    run = lose(project)

    first = finalize(run)
    before = {path.name: path.stat() for path in run.iterdir()}
    second = finalize(run)

    assert (True, False) == (first, second)
    assert before == {path.name: path.stat() for path in run.iterdir()}
    assert "its process is gone" == document(run, "final-status.json")["terminal_error"]
    assert "fail" == project.session("run1")["status"]
    assert "executor-lost" == verified(project.state_root)["run1"]["attempt_classification"]


def test_many_finalize_at_once(project: Project) -> None:
    """One of them does it."""
    run = lose(project)
    done: list[bool] = []
    threads = [threading.Thread(target=lambda: done.append(finalize(run))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [False] * 5 + [True] == sorted(done)
    assert ["prepared", "running", "failed"] == moves(run, "execution")
    verified(project.state_root)


def test_what_is_appended_before_the_seal_is_sealed(project: Project) -> None:
    """A supervisor's last words belong to the run; afterwards there are none."""
    run = lose(project)
    incident = {"schema": "agent-workflow/heartbeat/v2", "at": "2026-01-01T00:00:00+00:00"}

    assert finalize(run, before_seal=lambda: append_record_locked(run, "extra.jsonl", incident))

    assert "extra.jsonl" in [item["path"] for item in document(run, "final-receipt.json")["artifacts"]]


def test_an_error_before_the_seal_leaves_the_run_unsealed(project: Project) -> None:
    """The next one finds everything but the seal, and puts it."""
    run = lose(project)

    with pytest.raises(ZeroDivisionError):
        finalize(run, before_seal=lambda: 1 / 0)
    assert not is_sealed(run)
    append_record(run, "extra.jsonl", {"n": 1})

    assert finalize(run)


def test_a_living_run_is_not_finalized(project: Project) -> None:
    """Neither its evidence nor its trace is touched."""
    process = project.start('with phase("work"):\n    Path("in").touch()\n    time.sleep(300)\n', "run1")
    project.wait_for((project.root / "in").exists)

    with pytest.raises(RunIsAlive):
        finalize(project.published("run1"))

    assert "running" == project.session("run1")["status"]
    assert "running" == document(project.published("run1"), "status.json")["status"]
    process.kill()
    process.communicate(timeout=120)
    assert finalize(project.published("run1"))


def test_a_recycled_pid_is_not_the_run(project: Project) -> None:
    """A process of the same pid that started at another moment does not keep the run alive."""
    run = lose(project)
    launch = document(run, "launch-contract.json")
    launch["runner"]["pid"] = 1  # alive, and of another start
    (run / "launch-contract.json").write_text(json.dumps(launch))

    assert finalize(run)


def test_the_repository_is_gone(project: Project) -> None:
    """The run is completed from its launch contract alone, and the repository does not come back."""
    run = lose(project)
    shutil.rmtree(project.data_dir)

    assert finalize(run)

    assert not project.data_dir.exists()
    assert not (run / "execution-metrics.json").exists()
    assert (None, None) == tuple(document(run, "run-provenance.json")[name] for name in ("executor", "finished_at"))
    assert "executor-lost" == verified(project.state_root)["run1"]["attempt_classification"]


def test_another_session_stands_in_its_place(project: Project) -> None:
    """A session of the same name in a repository that was made anew is not the one that was lost."""
    run = lose(project)
    shutil.rmtree(project.data_dir)
    project.run(FINISH, "run1")
    before = project.session("run1")

    assert finalize(run)

    assert before == project.session("run1")
    assert 2 == len(verified(project.state_root))


def test_a_run_that_ended_and_was_not_sealed_keeps_its_end(project: Project) -> None:
    """A success whose publisher was killed at the last moment is a success."""
    broken = "from agent_workflow.tracer.evidence import _completing\n_completing.complete_locked = lambda *a, **k: os.kill(os.getpid(), 9)\n"  # noqa: E501 - a program in one piece
    assert -9 == project.run(broken + FINISH, "run1").code
    assert "success" == project.session("run1")["status"]

    project.run(FINISH, "run2")

    status = document(project.published("run1"), "final-status.json")
    assert ("completed", True) == (status["status"], status["acceptance_eligible"])
    assert "acceptance-eligible" == verified(project.state_root)["run1"]["attempt_classification"]


def test_what_is_not_traced_is_left_alone(project: Project) -> None:
    """A run of another supervisor is not completed by ours."""
    project.is_tampered_with = True
    run = project.published("other")
    run.mkdir(parents=True)
    (run / "launch-contract.json").write_text('{"schema": "agent-workflow/launch-contract/v2"}')

    with pytest.raises(NotTraced):
        finalize(run)

    assert ["launch-contract.json"] == [path.name for path in run.iterdir()]


def test_a_sealed_run_can_be_archived(project: Project) -> None:
    """Its files are read-only, its directory may be moved; the seal holds in the archive."""
    project.run(FINISH, "run1")
    archive = project.state_root / "archive"
    archive.mkdir(mode=0o700)

    project.published("run1").rename(archive / "run1")

    assert "archive" == verified(project.state_root)["run1"]["storage_class"]
    assert not seal_run(archive / "run1")


def test_a_run_whose_agent_lives_on_is_joined(project: Project) -> None:
    """It cannot be sealed for that; the next process goes on with the run, and it is that one's end that counts."""
    orphan = subprocess.Popen(["sleep", "300"])
    body = f"""
from agent_workflow.tracer._processes import find
from agent_workflow.tracer.evidence import _sealing
row = dict(kind="agent", name="builder", command="sleep 300", ended_at=None, started_at="2026-01-01T00:00:00.000+00:00")
run.tracer.numbered_row("processes", pid={orphan.pid}, start_marker=find({orphan.pid}).start_marker, **row)
_sealing.seal_run_locked = lambda directory: os.kill(os.getpid(), 9)
"""
    try:
        assert -9 == project.run(body + FINISH, "run1").code
        run = project.published("run1")
        assert "completed" == document(run, "final-status.json")["status"]
        with pytest.raises(RunIsAlive):
            finalize(run)

        project.run('with phase("again"):\n    raise ValueError\n', "run1")
    finally:
        orphan.kill()
        orphan.wait()

    assert ["prepared", "running", "completed", "running", "failed"] == moves(run, "execution")
    assert "workflow_error" == document(run, "final-status.json")["failure_category"]
    assert {"run1"} == set(verified(project.state_root))
