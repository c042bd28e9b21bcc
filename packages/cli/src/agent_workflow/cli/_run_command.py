"""``agent-workflow run``: record any agent command.

A call that is understood at once never gets here (see ``agent_workflow.cli.main``). This is for those with options in
front of ``run``, for help, and for words about what is wrong.
"""

from typing import Annotated

import typer

from agent_workflow.cli._call import Call, StateRoot, seconds
from agent_workflow.tracer.running import AGENTS, DEFAULT_GRACE_SECONDS, Options, run_command


def record_command(
    context: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, with its arguments.")],
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help=f"Which agent it is: {', '.join(AGENTS)}.")
    ] = "auto",
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="Name of the session; the command's own.")] = "",
    request: Annotated[
        str, typer.Option("--request", metavar="TEXT", help="What it is asked to do; the command line.")
    ] = "",
    db: Annotated[str, typer.Option("--db", metavar="FILE", help="Trace database; found from here when omitted.")] = "",
    grace: Annotated[
        float,
        typer.Option(
            "--grace",
            min=0,
            callback=seconds,
            metavar="SECONDS",
            help="To end by itself when told to stop; then it is killed.",
        ),
    ] = DEFAULT_GRACE_SECONDS,
    state_root: StateRoot = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say where the session is kept.")] = False,
) -> None:
    """Record any agent command as a session; its streams and its exit code pass through untouched.

    127 where there is no such program, 126 where it cannot be executed.
    """
    try:
        options = Options(
            command,
            agent=agent,
            name=name,
            request=request,
            db=db,
            state_root=Call.of(context, False, state_root).named_root or "",
            grace_seconds=grace,
            is_verbose=verbose,
        )
    except ValueError as error:
        raise typer.BadParameter(f"there is no agent {agent!r}; known: {', '.join(AGENTS)}") from error
    run_command(options)
