"""What stops a call, as one line and as one document."""

import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from agent_workflow import index_store
from agent_workflow.cli._terminal_text import printable

if TYPE_CHECKING:
    from agent_workflow.tracer import TracerError

EXIT_DONE = 0
EXIT_NOT_GOOD = 1
EXIT_WRONG_CALL = 2
EXIT_REFUSED = 3
EXIT_INTERRUPTED = 130

_REFUSED = (
    "UnsafePath",
    "ForeignDatabase",
    "NewerDatabase",
    "NewerDataset",
    "UnlistedField",
    "ForeignHost",
    "ImplausibleClock",
    "NotATrace",
    "MissingColumn",
)
_WRONG_CALL = ("InvalidQuestion", "InvalidPolicy", "InvalidDestination", "ConfigError", "WorkflowError")
_OF_A_STATE_ROOT = re.compile(r"agent-workflow (?=(?:index|prune|archive)\b)")
_COMMANDS = ("agent-workflow ", "chmod ", "rm ")


@dataclass(frozen=True)
class Failure:
    """Why a call was not answered.

    Attributes:
        code: one word for programs, for example ``missing_database``.
        message: what is wrong, with the path where there is one.
        path: the file or directory at fault.
        hint: the next step, a command or a sentence.
        exit_code: exit code of the process.
    """

    code: str
    message: str
    path: str | None = None
    hint: str | None = None
    exit_code: int = EXIT_NOT_GOOD

    @property
    def line(self) -> str:
        """The failure as one line for a person, without the program's name."""
        path = f" ({self.path})" if self.path and self.path not in self.message else ""
        if self.hint is None:
            return self.message + path
        step = f"run: {self.hint}" if self.hint.startswith(_COMMANDS) else self.hint
        return f"{self.message}{path}; {step}"

    def to_document(self) -> dict[str, object]:
        """Return the JSON document."""
        return {"error": {"code": self.code, "message": self.message, "path": self.path, "hint": self.hint}}


class CommandFailed(Exception):
    """A command found what stops it; the edge turns it into words."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of_store(error: "index_store.IndexStoreError", named_root: str | None = None) -> Failure:
    """Describe an error of the index store.

    Args:
        error: what was raised.
        named_root: ``--state-root`` as given, so that the next step names it too.
    """
    hint = with_state_root(error.hint, named_root)
    return Failure(_code_of(error), str(error), error.path, hint, _exit_code_of(error))


def failure_of_tracer(error: "TracerError") -> Failure:
    """Describe an error of the tracer, with the file that it is about."""
    path = None if error.path is None else str(error.path)
    message = str(error) if path is None or path in str(error) else f"{path}: {error}"
    return Failure(_code_of(error), message, path, error.hint or None, _exit_code_of(error))


def _code_of(error: Exception) -> str:
    """Return the word for programs: the error's class as ``snake_case``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()


def _exit_code_of(error: Exception) -> int:
    """Return the exit code that an error of a store or of the tracer ends the process with."""
    name = type(error).__name__
    return EXIT_REFUSED if name in _REFUSED else EXIT_WRONG_CALL if name in _WRONG_CALL else EXIT_NOT_GOOD


def usage_error(message: str, hint: str | None = None) -> CommandFailed:
    """Refuse a call whose options or surroundings make no sense."""
    return CommandFailed(Failure("usage_error", message, hint=hint, exit_code=EXIT_WRONG_CALL))


def with_state_root(command: str | None, named_root: str | None) -> str | None:
    """Make a command that is shown speak of the same state root as the call."""
    if command is None or named_root is None:
        return command
    return _OF_A_STATE_ROOT.sub(lambda _: f"agent-workflow --state-root {shlex.quote(named_root)} ", command)


def failure_of_call(error: typer.TyperException) -> Failure:
    """Describe a call that Typer does not accept."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    context = getattr(error, "ctx", None)
    hint = None if context is None else f"{context.command_path} --help"
    return Failure("usage_error", message, hint=hint, exit_code=EXIT_WRONG_CALL)


def failure_of_system(error: OSError) -> Failure:
    """Describe what the operating system refused."""
    if isinstance(error, FileNotFoundError) and error.filename is None and _folder_is_gone():
        return Failure("no_folder", "the working directory is there no more", hint="change to one that exists")
    path = None if error.filename is None else printable(str(error.filename))
    reason = error.strerror or str(error)
    message = reason if path is None else f"{path}: {reason}"
    return Failure("system_error", message, path, "see that it exists, is yours and that its disk has room")


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 -- nothing is made of it
    except FileNotFoundError:
        return True
    return False


def interrupted(state: str | None = None) -> Failure:
    """Describe the end by Ctrl-C, and what that leaves behind where there is something to say of it."""
    return Failure("interrupted", "interrupted", hint=state, exit_code=EXIT_INTERRUPTED)


def refused_platform(platform: str) -> Failure | None:
    """Refuse Windows, where there are no directory descriptors to open evidence through.

    Args:
        platform: ``sys.platform``.
    """
    if platform not in ("win32", "cygwin", "msys"):
        return None
    message = "Windows is not supported: evidence is read through directory descriptors, which it does not have"
    hint = "use Linux or macOS, or Linux inside WSL 2"
    return Failure("unsupported_platform", message, hint=hint, exit_code=EXIT_WRONG_CALL)
