"""Optional parts: what is not installed is named together with the extra that brings it."""

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from agent_workflow.cli._failure import EXIT_WRONG_CALL, CommandFailed, Failure


@contextmanager
def needs_extra(extra: str, purpose: str) -> Iterator[None]:
    """Import what an extra brings; a name that cannot be imported tells which extra to install.

    Args:
        extra: of ``agent-workflow-cli``.
        purpose: what it is for, as the subject of a sentence.

    Raises:
        CommandFailed: a module is missing, or is of a version that lacks what is needed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing(extra, f"{purpose} is not installed (missing: {error.name})") from error
    except ImportError as error:
        raise _missing(extra, f"{purpose} cannot use the version that is installed ({error})") from error


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
        raise _missing(extra, f"{purpose} is not installed (missing: {', '.join(missing)})")


def _missing(extra: str, message: str) -> CommandFailed:
    return CommandFailed(Failure("missing_extra", message, hint=install_command(extra), exit_code=EXIT_WRONG_CALL))


def install_command(extra: str) -> str:
    """Return what brings an extra into the environment that runs this; another one's ``pip`` would not.

    Args:
        extra: of ``agent-workflow-cli``.
    """
    # uv makes environments without pip, and installs into any.
    python = shlex.quote(sys.executable)
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{installer} 'agent-workflow-cli[{extra}]'"
