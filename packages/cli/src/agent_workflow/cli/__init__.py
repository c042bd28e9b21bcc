"""The ``agent-workflow`` command."""

from agent_workflow.cli._app import main

__all__ = ["main"]
