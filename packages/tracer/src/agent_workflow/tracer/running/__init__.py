"""Records any agent command: its streams and its exit code pass through untouched.

What is loaded before the command starts is little; see ``docs/running.md``.
"""

from agent_workflow.tracer.running._options import AGENTS, DEFAULT_GRACE_SECONDS, Options, parse

__all__ = ["AGENTS", "DEFAULT_GRACE_SECONDS", "Options", "parse", "run_command"]


def run_command(options: Options) -> None:
    """Run a command, record it, and end this process as the command ended: by the same code or the same signal.

    Args:
        options: what to run and how to record it.
    """
    from agent_workflow.tracer.running._launch import Launch

    launch = Launch(options)
    launch.start()
    from agent_workflow.tracer.running._front import Front  # the command is under way meanwhile
    from agent_workflow.tracer.running._leaving import leave

    front = Front(launch)
    status = front.run()
    leave(status, front.stopped_by)
