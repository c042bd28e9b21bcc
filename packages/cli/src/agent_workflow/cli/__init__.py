"""The ``agent-workflow`` command."""

TYPE_CHECKING = False  # typing takes longer to load than a command that is recorded to start
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["main"]


def main() -> "NoReturn":
    """Run the command line and end the process with its exit code."""
    import sys

    if sys.argv[1:2] == ["run"] and sys.platform != "win32":
        # What an agent is started with must cost next to nothing, so it goes around all that the others need.
        from agent_workflow.tracer.running import parse, run_command

        options = parse(sys.argv[2:])
        if options is not None:
            run_command(options)
    from agent_workflow.cli._app import main as run_another

    run_another()
