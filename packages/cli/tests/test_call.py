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


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "kill", "x", "--grace", "nan"),
        ("run", "--grace", "inf", "--", "true"),
        ("supervisor", "run", "--interval", "nan"),
        ("supervisor", "once", "--stall-after", "1e300"),
    ],
)
def test_seconds_are_a_number_that_can_be_waited(arguments: tuple[str, ...], cli: "CommandLine") -> None:
    """Nothing is compared with NaN, and no wait overflows."""
    answer = cli.run(*arguments)

    assert (2, "") == (answer.code, answer.out)
    assert "is no number of seconds up to 1000000000" in answer.err


def test_init_answers_like_every_command(cli: "CommandLine") -> None:
    """With --json before its name, too; what is there is kept byte by byte, whatever its encoding."""
    (cli.home / ".gitignore").write_bytes(b"# Gr\xfc\xdfe\r\n*.o")

    document = cli.run("--json", "init").document
    again = cli.run("init")

    assert "agent-workflow/init/v1" == document["schema"]
    assert "extended" == document["files"][-1]["outcome"]
    kept = (cli.home / ".gitignore").read_bytes()
    assert kept.startswith(b"# Gr\xfc\xdfe\r\n*.o\n# what agent-workflow records")
    assert kept.endswith(b"\nadws/adw_data/\n")
    assert {"kept"} == {line.split()[0] for line in again.lines[:-2]}


def test_a_working_directory_that_is_gone_is_said(cli: "CommandLine") -> None:
    """The system names no file for that."""
    gone = cli.home / "gone"
    gone.mkdir()
    program = str(Path(sys.executable).with_name("agent-workflow"))
    script = 'cd "$1" && rmdir "$1" && exec "$0" trace sessions'

    done = subprocess.run(
        ["sh", "-c", script, program, str(gone)], env=cli.environment, capture_output=True, text=True, timeout=240
    )

    assert (1, "agent-workflow: the working directory is there no more; change to one that exists\n") == (
        done.returncode,
        done.stderr,
    )
