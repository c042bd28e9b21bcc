"""The reference names every command, every option and its help."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from agent_workflow.cli._app import application
from agent_workflow.cli._failure import EXIT_INTERRUPTED
from agent_workflow.index_store import KINDS

REFERENCE = Path(__file__).parents[3] / "docs" / "cli.md"
_THERE_ALREADY = ("--help",)


@pytest.fixture(scope="module")
def reference() -> str:
    """The reference, which only the whole checkout has."""
    if not REFERENCE.is_file():
        pytest.skip("docs/cli.md is not in reach of a package that is tested alone")
    return " ".join(REFERENCE.read_text(encoding="utf-8").split())


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Walk the tree that Typer builds."""
    yield " ".join(path), command
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))


COMMANDS = dict(_commands(typer.main.get_command(application())))


@pytest.mark.parametrize("path", [path for path in COMMANDS if path])
def test_every_command_is_described(path: str, reference: str) -> None:
    """A command has a heading and its own first sentence."""
    first_sentence = " ".join(str(COMMANDS[path].help).split("\n\n")[0].split())

    assert f"# `agent-workflow {path}`" in reference
    assert first_sentence in reference


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_is_described(path: str, reference: str) -> None:
    """An option has a name and a help in the program, and both in the reference."""
    for parameter in COMMANDS[path].params:
        option = max(parameter.opts, key=len)
        if option in _THERE_ALREADY:
            continue
        assert parameter.help, option
        assert f"`{option}" in reference or f"`{parameter.metavar}`" in reference, option
        assert " ".join(parameter.help.split()) in reference, option


@pytest.mark.parametrize("path", COMMANDS)
def test_what_an_option_takes_has_a_name(path: str) -> None:
    """DIR, FILE or N, rather than a type; one of a few words is shown as these."""
    for parameter in COMMANDS[path].params:
        assert parameter.metavar or getattr(parameter, "is_flag", False) or hasattr(parameter.type, "choices")


def test_every_kind_and_its_filters_are_described(reference: str) -> None:
    """The kinds of the query are those of the store, in the help and in the reference."""
    help_text = next(p.help for p in COMMANDS["index query"].params if p.name == "kind")

    assert all(kind in help_text for kind in KINDS)
    for kind, filters in KINDS.items():
        assert f"| `{kind}` | {', '.join(filters)} |" in reference


def test_every_exit_code_is_described(reference: str) -> None:
    """Each exit code has its line."""
    for code in (0, 1, 2, 3, EXIT_INTERRUPTED):
        assert f"| {code} |" in reference
