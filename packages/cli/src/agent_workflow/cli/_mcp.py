"""``agent-workflow mcp``: the evidence index for agents."""

import signal
import sys

import typer

from agent_workflow.cli._call import Call, StateRoot
from agent_workflow.cli._extras import needs_extra
from agent_workflow.cli._failure import usage_error
from agent_workflow.cli._output import abandon_stdout


def mcp_command(context: typer.Context, state_root: StateRoot = None) -> None:
    """Serve the evidence index to agents over MCP on standard input and output; it reads, and writes nothing.

    Standard output carries the protocol alone. It ends when its input does.
    """
    call = Call.of(context, False, state_root)
    if call.as_json:
        raise usage_error("an MCP server has no document to print", "leave --json out")
    if sys.stdin is None or sys.stdout is None:
        raise usage_error("the MCP server has no open standard input and output", "let an MCP client start it")
    with needs_extra("mcp", "the MCP server"):
        from agent_workflow.cli.mcp.server import build_server
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # An exception would wait for the thread that reads standard input; there is nothing to leave in order.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        build_server(call.state_root).run("stdio")
    except* BrokenPipeError:  # raised within a task group: the client is gone, and nobody is left to be told
        abandon_stdout()
