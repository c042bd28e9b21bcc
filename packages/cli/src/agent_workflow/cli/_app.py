"""The root of the command, and the one place where an error becomes a line and an exit code."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer

from agent_workflow import index_store
from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._failure import (
    EXIT_DONE,
    EXIT_NOT_GOOD,
    CommandFailed,
    failure_of_call,
    failure_of_store,
    failure_of_system,
    failure_of_tracer,
    interrupted,
    refused_platform,
)
from agent_workflow.cli._output import (
    AnswerNotWritten,
    abandon_stdout,
    flush_stdout,
    prepare_stdout,
    say,
    show_document,
    tell,
)

if TYPE_CHECKING:
    from agent_workflow.tracer import TracerError

PROGRAM = "agent-workflow"


class _Mount(NamedTuple):
    """Where a command lives: a ``typer.Typer`` for a group, a function for a single command.

    What follows the first argument of one that ``takes_a_command`` is that command's, options included.
    """

    module: str
    attribute: str
    takes_a_command: bool = False


_MOUNTS = {
    "index": _Mount("agent_workflow.cli._index", "index_app"),
    "fleet": _Mount("agent_workflow.cli._fleet", "fleet_app"),
    "trace": _Mount("agent_workflow.cli._trace", "trace_app"),
    "supervisor": _Mount("agent_workflow.cli._supervisor", "supervisor_app"),
    "run": _Mount("agent_workflow.cli._run_command", "record_command", takes_a_command=True),
    "usage": _Mount("agent_workflow.cli._usage", "usage_command"),
    "export": _Mount("agent_workflow.cli._export_otlp", "export_app"),
    "mcp": _Mount("agent_workflow.cli._mcp", "mcp_command"),
    "archive": _Mount("agent_workflow.cli._archive", "archive_command"),
    "prune": _Mount("agent_workflow.cli._prune", "prune_command"),
    "report": _Mount("agent_workflow.cli._report", "report_command"),
    "ui": _Mount("agent_workflow.cli._ui", "ui_command"),
    "init": _Mount("agent_workflow.cli._init", "init_command"),
    "demo": _Mount("agent_workflow.cli._demo", "demo"),
    "doctor": _Mount("agent_workflow.cli._doctor", "doctor"),
}


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    prepare_stdout()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one call.

    Args:
        arguments: what stands behind the program's name.

    Returns:
        0 done; 1 what was checked is not good, or what was named does not exist; 2 the call or the configuration is
        wrong; 3 refused for safety; 130 interrupted.
    """
    call = Call(as_json=_asks_for_json(arguments))
    try:
        code = _answer(arguments, call)
        flush_stdout()
    except BrokenPipeError:
        abandon_stdout()
        return EXIT_DONE
    except AnswerNotWritten as error:
        abandon_stdout()
        tell(f"the answer cannot be written: {error}")
        return EXIT_NOT_GOOD
    return code


def _answer(arguments: Sequence[str], call: Call) -> int:
    """Run the command and report what stopped it."""
    try:
        return _invoke(arguments, call)
    except typer.TyperException as error:
        failure = failure_of_call(error)
    except CommandFailed as error:
        failure = error.failure
    except index_store.IndexStoreError as error:
        failure = failure_of_store(error, call.named_root)
    except BrokenPipeError:
        raise
    except _errors_of_the_tracer() as error:
        failure = failure_of_tracer(error)
    except OSError as error:
        failure = failure_of_system(error)
    except KeyboardInterrupt:
        failure = interrupted()
    tell(failure.line)
    if call.as_json:
        show_document(failure.to_document())
    return failure.exit_code


def _errors_of_the_tracer() -> "type[TracerError]":
    """Load the tracer's errors, which is done only when something was raised; most commands do without the tracer."""
    from agent_workflow.tracer import TracerError

    return TracerError


def _invoke(arguments: Sequence[str], call: Call) -> int:
    if (refused := refused_platform(sys.platform)) is not None:
        raise CommandFailed(refused)
    command = typer.main.get_command(application(arguments))
    try:
        with command.make_context(PROGRAM, list(arguments) or ["--help"], obj=call) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    return EXIT_DONE


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Build the command with what a call can reach.

    Args:
        arguments: the call. A command that it does not name is not imported; where it names none, all are.
    """
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(_root)
    for name, mount in _MOUNTS.items():
        if _can_reach(name, arguments) and find_spec(mount.module) is not None:
            command = getattr(import_module(mount.module), mount.attribute)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name)
            else:
                settings = {"allow_interspersed_args": not mount.takes_a_command}
                app.command(name, context_settings=settings)(command)
    return app


def _can_reach(name: str, arguments: Sequence[str]) -> bool:
    named = [argument for argument in arguments if argument in _MOUNTS]
    help_comes_first = "--help" in arguments and (not named or arguments.index("--help") < arguments.index(named[0]))
    return name in named or not named or help_comes_first


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Tell whether an error is to be a document too; what stands behind ``--`` is somebody else's."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"{PROGRAM} {version('agent-workflow-cli')}")
        raise typer.Exit


def _root(
    context: typer.Context,
    as_json: AsJson = False,
    state_root: StateRoot = None,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """A flight recorder for coding agents: what ran, what failed and why, what waits for you, what it cost.

    Exit codes: 0 done; 1 what was checked is not good, or what was named does not exist; 2 the call or the
    configuration is wrong; 3 refused for safety; 130 interrupted.
    """
    Call.of(context, as_json, state_root)
