"""``agent-workflow mcp``: the evidence index for agents."""

import typer

from agent_workflow.cli._call import Call, StateRoot
from agent_workflow.cli._failure import EXIT_WRONG_CALL, CommandFailed, Failure
from agent_workflow.cli._output import abandon_stdout


def mcp_command(context: typer.Context, state_root: StateRoot = None) -> None:
    """Serve the evidence index to agents over MCP on standard input and output; it reads, and writes nothing.

    Standard output carries the protocol alone. It ends when its input does.
    """
    call = Call.of(context, False, state_root)
    if call.as_json:
        message = "an MCP server has no document to print"
        raise CommandFailed(Failure("usage_error", message, hint="leave --json out", exit_code=EXIT_WRONG_CALL))
    try:
        from agent_workflow.cli.mcp.server import build_server
    except ModuleNotFoundError as error:
        message = f"the MCP server is not installed ({error.name} is missing)"
        hint = "pip install 'agent-workflow-cli[mcp]'"
        raise CommandFailed(Failure("missing_extra", message, hint=hint, exit_code=EXIT_WRONG_CALL)) from error
    try:
        build_server(call.state_root).run("stdio")
    except* BrokenPipeError:  # raised within a task group: the client is gone, and nobody is left to be told
        abandon_stdout()
