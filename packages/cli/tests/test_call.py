"""The call itself: help, version, unknown commands, platforms, start-up."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_workflow.cli import _app
from agent_workflow.cli._failure import refused_platform

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


def test_nothing_asked_shows_what_can_be_asked(cli: "CommandLine") -> None:
    """The bare command prints its help and exits 0; a missing module is no stub."""
    answer = cli.run()

    assert (0, "") == (answer.code, answer.err)
    assert all(f"\n  {command} " in answer.out for command in ("index", "demo", "doctor"))


def test_the_version_is_printed(cli: "CommandLine") -> None:
    """``--version`` names the program and its version."""
    answer = cli.run("--version")

    assert (0, "agent-workflow") == (answer.code, answer.out.split()[0])


@pytest.mark.parametrize("arguments", [("fly",), ("index",), ("index", "fly"), ("--fly",), ("index", "--fly", "sync")])
def test_a_call_that_is_none_is_one_line(arguments: tuple[str, ...], cli: "CommandLine") -> None:
    """A wrong call exits 2 with one line that names the help, and with --json a document."""
    plain = cli.run(*arguments)
    document = cli.run("--json", *arguments).document

    assert (2, "", 1) == (plain.code, plain.out, len(plain.err.splitlines()))
    assert "--help" in plain.err
    assert {"code", "message", "path", "hint"} == document["error"].keys()


def test_a_folder_that_is_gone_is_named_as_the_cause(cli: "CommandLine") -> None:
    """Whoever stands in a deleted directory is told that, and not that some file does not exist."""
    folder = cli.home / "gone"
    folder.mkdir()

    answer = cli.run("trace", "sessions", prefix=("sh", "-c", f'cd {folder} && rmdir ../gone && exec "$0" "$@"'))

    assert (1, "") == (answer.code, answer.out)
    line = "agent-workflow: the working directory is there no more; change to one that exists\n"
    assert line == answer.err


def test_only_the_named_command_is_imported() -> None:
    """A call pays for what it names; without a name there is everything."""
    assert ["index"] == [group.name for group in _app.application(["index", "status"]).registered_groups]
    assert "demo" in [command.name for command in _app.application(["--help", "index"]).registered_commands]


def test_an_argument_called_like_a_command_is_harmless(cli: "CommandLine", tmp_path: Path) -> None:
    """A state root called ``demo`` is no demo."""
    answer = cli.run("--state-root", "demo", "index", "status", "--json")

    assert (0, str(cli.home / "demo")) == (answer.code, answer.document["state_root"])


@pytest.mark.parametrize("platform", ["win32", "cygwin"])
def test_windows_is_refused_with_a_sentence(
    platform: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where evidence cannot be read safely nothing is tried."""
    monkeypatch.setattr(sys, "platform", platform)

    code = _app.run(["index", "status"])

    assert 2 == code
    assert capsys.readouterr().err.startswith("agent-workflow: Windows is not supported")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_linux_and_macos_are_welcome(platform: str) -> None:
    """Nothing is refused there."""
    assert refused_platform(platform) is None


@pytest.mark.parametrize(
    "arguments", [("index", "status"), ("index", "query", "runs"), ("index", "query", "runs", "--json")]
)
def test_a_question_imports_neither_models_nor_terminal_libraries(
    arguments: tuple[str, ...], indexed: Path, cli: "CommandLine"
) -> None:
    """Start-up stays quick because what a question does not need is not imported."""
    script = (
        "import sys; from agent_workflow.cli._app import run; run(sys.argv[1:]); print(*sorted(sys.modules), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments, "--state-root", str(indexed)],
        env=cli.environment,
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.splitlines())
    assert set() == loaded & {"pydantic", "pydantic_core", "rich", "agent_workflow.index_store.indexing", "sqlite3"}
