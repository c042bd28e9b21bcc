"""Everything that can go wrong in this package, as one tree; words for people are made at the command line."""

from pathlib import Path


class TracerError(Exception):
    """Base of all errors of the tracer.

    Attributes:
        path: the file it is about, if there is one.
        hint: what to do next.
    """

    def __init__(self, message: str, *, path: Path | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


class ConfigError(TracerError):
    """The configuration cannot be used."""


class WorkflowError(TracerError, ValueError):
    """A workflow asks for something that makes no sense: an empty description, an unknown kind."""


class TraceWriteFailed(TracerError):
    """A record did not reach its file, so it was not acknowledged."""


class AgentError(TracerError):
    """An agent call did not end well."""


class ProviderError(AgentError):
    """The model's provider refused or failed; asking again in other words cannot help."""


class AgentFailed(AgentError):
    """The coding agent itself failed: a bad exit, an aborted turn, a stream that was cut off."""


class InvalidReply(AgentError):
    """The reply was no envelope of the asked type, and the retries are used up."""


class GatesFailed(AgentError):
    """Gates still fail and the retries are used up."""


class GateRaised(AgentError):
    """A gate raised instead of reporting; that is a fault of the gate, not of the agent."""


class PermissionBreach(AgentError):
    """The agent wrote where it may not write."""


class StillRunning(TracerError):
    """What is asked for must wait until the session has ended."""


class TraceReadError(TracerError):
    """A trace database cannot be read."""


class NoTrace(TraceReadError):
    """There is no trace database where one was looked for."""


class NotATrace(TraceReadError):
    """The file is not a SQLite database, or holds no trace."""


class NoSuchSession(TraceReadError):
    """The trace does not hold the session that was named."""


class MissingColumn(TraceReadError):
    """An older database lacks the column that a request needs."""
