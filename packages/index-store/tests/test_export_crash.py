"""An export killed at any step leaves the old dataset or the new one, and the next export puts it right."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

from exported import assert_whole, files_of, manifest_of
from sample_records import incident
from sample_state import StateRoot

from agent_workflow.index_store import rebuild, sync
from agent_workflow.index_store.export import export

pytestmark = pytest.mark.slow

MORTAL = """
import itertools, json, os, signal, sys
from pathlib import Path
from agent_workflow.index_store.export import export

state_root, dataset, last_step, before = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "before"
counted, steps = itertools.count(1), 0

def mortal(name):
    whole = getattr(os, name)
    def step(*arguments, **options):
        global steps
        steps = number = next(counted)
        last = number == last_step
        if last and before:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return whole(*arguments, **options)
        finally:
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
    setattr(os, name, step)

for name in ("fsync", "replace", "unlink", "rmdir", "mkdir"):
    mortal(name)
export(Path(state_root), dataset, host="h", retain_days=36000)
print(json.dumps(steps))
"""
"""Counts what changes the disk, and dies before or after one of these steps."""


def run_mortal(state: StateRoot, dataset: Path, last_step: int, moment: str) -> subprocess.CompletedProcess[str]:
    """Export in a process that dies at a step; with step 0 it lives."""
    command = [sys.executable, "-c", MORTAL, str(state.path), str(dataset), str(last_step), moment]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def two_states(state: StateRoot, tmp_path: Path) -> tuple[StateRoot, Path]:
    """Give an index that went on since its dataset was exported: a day changed, one came and one went."""
    for number in (1, 2):
        state.run(f"run-{number}", created_at=f"2026-03-0{number}T12:00:00Z").journal(
            "incidents.jsonl", [incident(number, recorded_at=f"2026-03-0{number}T12:00:00Z")]
        )
    rebuild(state.path)
    export(state.path, str(tmp_path / "old"), host="h", retain_days=36000)
    state.remove("run-1")
    state.run("run-3", created_at="2026-03-03T12:00:00Z")
    sync(state.path)
    return state, tmp_path / "old"


def test_a_kill_at_any_step_leaves_the_old_or_the_new(two_states: tuple[StateRoot, Path], tmp_path: Path) -> None:
    """Readers by the manifest see one of the two, whole; the next export leaves what a whole one would have."""
    state, old = two_states
    golden = tmp_path / "golden"
    shutil.copytree(old, golden)
    steps = json.loads(run_mortal(state, golden, 0, "before").stdout)
    manifests = [manifest_of(old, "h"), manifest_of(golden, "h")]
    seen = set()

    for step in range(1, steps + 1):
        dataset = tmp_path / f"step-{step}"
        shutil.copytree(old, dataset)
        died = run_mortal(state, dataset, step, "before" if step % 2 else "after")

        assert died.returncode == -signal.SIGKILL
        seen.add(manifests.index(assert_whole(dataset, "h")))
        export(state.path, str(dataset), host="h", retain_days=36000)
        assert files_of(golden) == files_of(dataset)
    assert {0, 1} == seen
    assert steps > 15
