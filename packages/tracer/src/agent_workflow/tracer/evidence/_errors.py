"""What can go wrong when a run is published; a run that is being recorded never sees these."""

from agent_workflow.tracer._errors import TracerError


class EvidenceError(TracerError):
    """Evidence cannot be written."""


class UnsafeStateRoot(EvidenceError):
    """The state root, or a directory in it, is a link, somebody else's, or writable by others."""


class RunIsBusy(EvidenceError):
    """Somebody else keeps the run locked."""


class RunIsSealed(EvidenceError):
    """The run is sealed: nothing of it changes any more."""


class RunIsAlive(EvidenceError):
    """A process of the run is alive, so that nobody else may end it."""


class NotTraced(EvidenceError):
    """The directory holds no launch contract of a traced run."""


class WasRecorded(EvidenceError):
    """The session was recorded while it went on, and is evidence as that."""
