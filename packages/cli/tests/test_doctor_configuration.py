"""What ``doctor`` says of the configuration of a repository."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_workflow.cli._check import Check
from agent_workflow.cli._doctor_configuration import check_configuration

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


@pytest.fixture(autouse=True)
def no_commands_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let agents have their usual programs."""
    for agent in ("PI", "CLAUDE_CODE", "CODEX", "GEMINI", "OPENCODE"):
        monkeypatch.delenv(f"AGENT_WORKFLOW_{agent}", raising=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository without a configuration, beside a folder ``bin``."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/adws").mkdir()
    return tmp_path / "repository"


def checks_of(repository: Path, text: str) -> list[Check]:
    """Write the configuration and judge it from a folder below, with ``bin`` as the PATH."""
    (repository / "adws/sssf.config.yaml").write_text(text)
    (repository / "src").mkdir()
    return list(check_configuration(repository / "src", str(repository.parent / "bin")))


def install(repository: Path, name: str) -> None:
    """Put a program on the PATH that leaves a trace when it runs."""
    program = repository.parent / "bin" / name
    program.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    program.chmod(0o755)


def test_what_is_right_is_one_line(repository: Path) -> None:
    """The programs are there, and are not run; those of tests may lie in the repository."""
    install(repository, "codex")
    (repository / "check").write_text("#!/bin/sh\n")
    (repository / "check").chmod(0o755)

    checks = checks_of(repository, "tests: [./check]\nagents:\n  - {name: one, coding_agent: codex}\n")

    assert [Check("configuration", "ok", f"{repository}/adws/sssf.config.yaml: 1 agent")] == checks
    assert not (repository / "ran").exists()


def test_without_one_nothing_is_wrong(repository: Path) -> None:
    """Most repositories only record commands."""
    (check,) = check_configuration(repository, "")

    assert ("ok", None) == (check.verdict, check.fix)


@pytest.mark.parametrize(
    ("text", "verdict", "sentence"),
    [
        ("agents:\n  - name: a\n   model: x\n", "bad", "line 3: while parsing"),
        ("agents:\n  - {name: a, coding_agent: scripted}\nsurprise: 1\n", "warn", "line 3: unknown key surprise"),
        ("agents:\n  - name: a\n    coding_agent: hal\n", "bad", "line 3: agents[a]: there is no coding agent 'hal'"),
        (
            "agents:\n  - name: a\n    coding_agent: claude_code\n",
            "bad",
            "line 3: agents[a] is done by claude_code, whose program claude is not on PATH",
        ),
        ("defaults:\n  coding_agent: pi\nagents:\n  - name: a\n", "bad", "line 2: agents[a] is done by pi, whose pro"),
        ("agents:\n  - name: a\n", "bad", "line 2: agents[a] is done by pi, whose program pi is not on PATH"),
        ("tests: [nothing-like-it, -q]\n", "bad", "line 1: tests: there is no program nothing-like-it"),
        ("tests: [./check]\n", "bad", "line 1: tests: there is no program ./check"),
        (
            "agents:\n  - name: a\n    coding_agent: scripted\n    prompt_engineering:\n      user: none.md\n",
            "bad",
            "line 5: agents[a].prompt_engineering.user: there is no file none.md",
        ),
        (
            f"agents:\n  - {{name: a, coding_agent: scripted, prompt_engineering: {{user: {'x' * 300}}}}}\n",
            "bad",
            "line 2: agents[a].prompt_engineering.user: there is no file xxx",
        ),
    ],
)
def test_a_fault_has_its_file_and_line_and_the_next_step(
    text: str, verdict: str, sentence: str, repository: Path
) -> None:
    """Each once, and nothing else with it."""
    (check,) = checks_of(repository, text)

    assert verdict == check.verdict
    assert check.detail.startswith(f"{repository}/adws/sssf.config.yaml: {sentence}")
    assert check.fix


def test_a_prompt_that_is_no_text_is_told(repository: Path) -> None:
    """With its own line: an agent's first call would end with it."""
    (repository / "system.md").write_bytes(b"Plan.\nNa\xefve.\n")

    (check,) = checks_of(
        repository, "agents:\n  - {name: a, coding_agent: scripted, prompt_engineering: {system: system.md}}\n"
    )

    assert check.detail.endswith(f"{repository}/system.md is not UTF-8 in line 2")


def test_a_variable_that_is_no_command_is_told(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read as a shell would."""
    monkeypatch.setenv("AGENT_WORKFLOW_PI", "pi '--flag")

    (check,) = checks_of(repository, "agents:\n  - name: a\n")

    assert "AGENT_WORKFLOW_PI is no command: No closing quotation" in check.detail


def test_the_command_tells_it(cli: "CommandLine") -> None:
    """Exit 1, since a workflow would end with it."""
    (cli.home / "sssf.config.yaml").write_text("agents: {}\n")

    answer = cli.run("doctor", COLUMNS="120")

    assert 1 == answer.code
    assert any(line.startswith("bad   configuration     ") for line in answer.lines)
    assert "line 1: agents must be a list" in " ".join(answer.out.split())
