"""What the documentation shows is what happens: its commands are run, and their output is compared."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_workflow import index_store

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
SAMPLE = "/tmp/sample"
"""Where the README has its sample."""

ELLIPSIS = "…"
# What differs from run to run, each as it is written in the README.
VOLATILE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T| )\d{2}:\d{2}Z?|[0-9a-f]{64}|\d+(?:\.\d)?[KM]\b")
END_OF_ANSWER = "\x1e"


@dataclass(frozen=True)
class Example:
    """One command of a console block.

    Attributes:
        command: what is typed after ``$``.
        answer: the lines below it; ``…`` stands for any text.
    """

    command: str
    answer: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A regular expression for the whole answer, as :func:`stable` gives it."""
        text = re.escape(stable("\n".join(self.answer)))
        return text.replace(re.escape(f" {ELLIPSIS} "), " .*").replace(ELLIPSIS, ".*")


def stable(text: str) -> str:
    """Return a text in one line, without what differs from run to run: times, digests, sizes, the width of columns."""
    return f" {VOLATILE.sub('~', ' '.join(text.split()))} "


def fenced(text: str, language: str) -> list[str]:
    """Return the contents of the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def examples(block: str) -> list[Example]:
    """Take a console block apart. The demo shows commands of its own, so that its answer is all of its block."""
    if block.startswith("$ make demo\n"):
        command, *answer = block.splitlines()
        return [Example(command.removeprefix("$ "), tuple(answer))]
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return [Example(command, tuple(answer)) for command, answer in found]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has the command on PATH, and nothing of ours set."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
    }


@pytest.fixture
def sample(tmp_path: Path, environment: dict[str, str]) -> Path:
    """The folder that ``agent-workflow demo --dir`` leaves behind."""
    folder = tmp_path / "sample"
    subprocess.run(["agent-workflow", "demo", "--dir", folder], env=environment, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("block", fenced(README, "console"), ids=lambda block: block.splitlines()[0])
def test_a_console_block_shows_what_happens(block: str, sample: Path, environment: dict[str, str]) -> None:
    """Typed one after the other, the commands of a block give the answers below them."""
    shown = examples(block)
    # A block is one shell, so that `$?` is the command's before; a record separator ends each answer.
    lines = [f"{example.command}\ncode=$?; printf '\\036'; (exit $code)" for example in shown]
    script = "\n".join(lines).replace("make demo", "agent-workflow demo")

    done = subprocess.run(
        ["bash", "-c", script],
        env=environment | {"AGENT_WORKFLOW_STATE_ROOT": str(sample / "state")},
        cwd=sample,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )

    answers = done.stdout.replace(str(sample), SAMPLE).split(END_OF_ANSWER)[:-1]
    assert len(answers) == len(shown)
    for example, answer in zip(shown, answers, strict=True):
        assert re.fullmatch(example.pattern, stable(answer)), f"not as shown: $ {example.command}\n{answer}"


def test_a_row_can_be_checked_against_its_line(sample: Path, environment: dict[str, str]) -> None:
    """The digest of a row is that of the line it names, as the README's two commands compute it."""
    block = next(block for block in fenced(README, "console") if "sha256sum" in block)
    script = "\n".join(example.command for example in examples(block))

    done = subprocess.run(
        ["bash", "-c", script],
        env=environment | {"AGENT_WORKFLOW_STATE_ROOT": str(sample / "state")},
        capture_output=True,
        text=True,
        check=True,
    )

    indexed, computed = re.findall(r"[0-9a-f]{64}", done.stdout)
    assert indexed == computed


def test_the_table_of_questions_is_complete() -> None:
    """Every kind of question is in the README, with every filter that it takes."""
    table = re.search(r"^\| `index query` \|.*?\n\n", README, re.MULTILINE | re.DOTALL)
    assert table is not None
    shown = {
        kind: tuple(filters.split()) for kind, filters in re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", table[0], re.M)
    }

    assert dict(index_store.KINDS) == shown


def test_every_make_target_has_its_line_of_help() -> None:
    """`make help` names every target that is declared."""
    declared = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert declared is not None
    described = re.findall(r"^([a-z]+):.*## ", MAKEFILE, re.MULTILINE)

    assert sorted(described) == sorted(declared[1].split())


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_that_are_named_exist(document: str) -> None:
    """Every `make …` of a document is a target."""
    text = (ROOT / document).read_text("utf-8")
    named = re.findall(r"(?:`|^|&& )make ([a-z]+)", text, re.MULTILINE)
    assert "test" in named

    targets = set(re.findall(r"^([a-z]+)(?:-%)?:", MAKEFILE, re.MULTILINE))
    assert set(named) <= targets


@pytest.mark.parametrize("package", sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir()))
def test_every_package_is_known_to_all(package: str) -> None:
    """A package stands in the README's table, in the changelog and in the workflow that tests it alone."""
    workflow = (ROOT / ".github" / "workflows" / "packages.yml").read_text("utf-8")

    assert f"](packages/{package})" in README
    assert f"## agent-workflow-{package}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert workflow.count(f"{package},") + workflow.count(f"{package}]") == 3  # two matrices, and macOS


@pytest.mark.parametrize("package", ["index-store"])
def test_python_examples_of_a_package_run(package: str, tmp_path: Path) -> None:
    """The Python in a package's README runs as it stands, in an empty folder."""
    readme = (ROOT / "packages" / package / "README.md").read_text("utf-8")
    blocks = fenced(readme, "python")
    assert blocks

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
