"""The gate's own parts: what fetches is tried again, and the search for foreign paths can fail."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GATE = ROOT / ".ci" / "run"
AGAIN = ROOT / "scripts" / "again"


@pytest.mark.parametrize(
    ("script", "tries", "code"),
    [
        ("exit 0", 1, 0),
        ("test $(wc -l < tries) = 2 || exit 3", 2, 0),
        ("exit 3", 2, 3),
        ("exit 124", 1, 124),
        ("kill -TERM $$", 1, 143),
    ],
)
def test_what_fetches_is_tried_once_more(script: str, tries: int, code: int, tmp_path: Path) -> None:
    """After a failure and with a word, but not when it ran out of time or was told to end."""
    done = subprocess.run(
        [AGAIN, "sh", "-c", f"echo >> tries; {script}"],
        cwd=tmp_path,
        env=os.environ | {"AGENT_WORKFLOW_AGAIN_SECONDS": "0"},
        capture_output=True,
        text=True,
    )

    assert code == done.returncode
    assert tries == len((tmp_path / "tries").read_text().splitlines())
    assert (tries - 1) == done.stderr.count("again: exit 3; once more in 0 s: sh -c")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository with the gate in it."""
    folder = tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(GATE, folder / ".ci" / "run")
    (folder / "README.md").write_text("nothing to find\n")
    (folder / ".gitignore").write_text(".venv\n")
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    return folder


def search(folder: Path, **environment: str) -> int:
    """Call the gate's search for paths of the machine; return its exit code."""
    function = re.search(r"^check_paths\(\) \{\n.*?^\}\n", GATE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert function is not None
    script = f"repo=$PWD\n{function[0]}check_paths >&2\n"
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run([bash, "-c", script], cwd=folder, env=os.environ | environment).returncode


@pytest.mark.parametrize("has_history", [True, False])
def test_the_search_for_paths_finds_them(checkout: Path, has_history: bool) -> None:
    """In a checkout and in an unpacked archive; not in what git ignores."""
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "home").write_text(f"{checkout}/bin\n")
    if not has_history:
        shutil.rmtree(checkout / ".git")

    clean = search(checkout)
    (checkout / "README.md").write_text(f"see {checkout}/docs\n")
    found = search(checkout)

    assert (0, 1) == (clean, found)


def test_a_search_that_cannot_search_fails(checkout: Path) -> None:
    """Without git nothing was looked at."""
    assert 0 != search(checkout, PATH="/nonexistent")
