"""A repository may lie in a folder of any name."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tracer_lab import Project

from agent_workflow.tracer import TraceReader, rebuild


@pytest.mark.parametrize("name", ["a b?c#d%41", os.fsdecode(b"caf\xe9")], ids=["marks of a URI", "no UTF-8"])
def test_folder_of_any_name(project: Project, tmp_path: Path, name: str) -> None:
    """A repository may be called what means something in a URI, or what is no text: evidence alone cannot hold that."""
    there = replace(project, root=tmp_path / name)
    there.root.mkdir()
    there.configure("agents: []\n")

    done = there.run("with phase('work') as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n", "run1")
    there.db.unlink()

    assert 0 == done.code, done.err
    assert ("name of a folder is no UTF-8" in done.err) == ("\udce9" in name) != there.published("run1").exists()
    assert rebuild(there.db, there.data_dir).lost_nothing
    assert "success" in there.cli("trace", "sessions").out
    with TraceReader(there.db) as reader:
        assert ["work"] == [row["name"] for row in reader.phases("run1")]
