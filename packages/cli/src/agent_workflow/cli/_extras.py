"""Optional parts: what is not installed is named together with the extra that brings it."""

from collections.abc import Iterable
from importlib.util import find_spec

from agent_workflow.cli._failure import EXIT_WRONG_CALL, CommandFailed, Failure


def require_extra(extra: str, modules: Iterable[str], purpose: str) -> None:
    """See that what a command needs is installed, without importing it.

    Args:
        extra: of ``agent-workflow-cli``.
        modules: that it brings.
        purpose: what they are for, as the subject of a sentence.

    Raises:
        CommandFailed: one of them is missing.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise CommandFailed(
            Failure(
                "missing_extra",
                f"{purpose} is not installed ({', '.join(missing)} is missing)",
                hint=f"pip install 'agent-workflow-cli[{extra}]'",
                exit_code=EXIT_WRONG_CALL,
            )
        )
