"""What every command is told: whether a document is wanted, and which state root is meant."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agent_workflow import index_store
from agent_workflow.cli._failure import CommandFailed, Failure, usage_error

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
"""The option ``--json``, taken before and after a subcommand."""

StateRoot = Annotated[
    str | None,
    typer.Option(
        "--state-root",
        metavar="DIR",
        help="Use this state root, not $AGENT_WORKFLOW_STATE_ROOT or $XDG_STATE_HOME/agent-workflow.",
    ),
]
"""The option ``--state-root``, taken before and after a subcommand."""

LONGEST_SECONDS = 1e9
"""More than thirty years, and what every clock and lock of the system still takes."""


def seconds(value: float) -> float:
    """Take a number of seconds from the command line, as the callback of an option.

    Raises:
        typer.BadParameter: it is no number, or more than any wait can take.
    """
    if not value <= LONGEST_SECONDS:  # which NaN is not, either
        raise typer.BadParameter(f"{value} is no number of seconds up to {LONGEST_SECONDS:.0f}")
    return value


@dataclass
class Call:
    """What was asked for so far; each level of the command line adds to it.

    Attributes:
        as_json: one JSON document instead of words.
        named_root: the state root as given on the command line.
    """

    as_json: bool = False
    named_root: str | None = None

    @classmethod
    def of(cls, context: typer.Context, as_json: bool, state_root: str | None) -> "Call":
        """Return the call with what this level adds.

        Args:
            context: Typer's context of the command, or of a group above it.
            as_json: ``--json`` was given here.
            state_root: ``--state-root`` as given here; the last one counts.
        """
        call = context.find_object(cls) or cls()
        call.as_json = call.as_json or as_json
        call.named_root = call.named_root if state_root is None else state_root
        return call

    @property
    def state_root(self) -> Path:
        """The state root that is meant, as an absolute path.

        Raises:
            CommandFailed: an empty one was named, or nothing says where it is.
        """
        if self.named_root is not None:
            if self.named_root == "":
                raise usage_error("--state-root is empty", "name a directory")
            return Path(self.named_root).absolute()
        try:
            return index_store.default_state_root(os.environ).absolute()
        except RuntimeError as error:  # neither HOME nor an entry in the password database
            hint = "name one with --state-root, or set AGENT_WORKFLOW_STATE_ROOT"
            raise CommandFailed(
                Failure("no_home", "your home directory is unknown, so there is no state root", hint=hint, exit_code=2)
            ) from error
