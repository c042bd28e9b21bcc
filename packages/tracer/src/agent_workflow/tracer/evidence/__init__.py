"""Evidence of runs in the state root: how it is written, sealed, and completed for a run whose process is gone.

Used by the tracer, which publishes what it records, and by whoever watches runs. Writers take ``run_lock``; functions
that end in ``_locked`` are for callers that hold it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_workflow.tracer.evidence._errors import (
        EvidenceError,
        NotTraced,
        RunIsAlive,
        RunIsBusy,
        RunIsSealed,
        UnsafeStateRoot,
    )
    from agent_workflow.tracer.evidence._finalizing import finalize_lost
    from agent_workflow.tracer.evidence._lock import run_lock
    from agent_workflow.tracer.evidence._sealing import seal_run, seal_run_locked
    from agent_workflow.tracer.evidence._state_root import runs_directory, state_root
    from agent_workflow.tracer.evidence._writing import (
        append_lifecycle_locked,
        append_record,
        append_record_locked,
        is_sealed,
        write_document,
        write_document_locked,
    )

_HOMES = {
    "_errors": ("EvidenceError", "NotTraced", "RunIsAlive", "RunIsBusy", "RunIsSealed", "UnsafeStateRoot"),
    "_finalizing": ("finalize_lost",),
    "_lock": ("run_lock",),
    "_sealing": ("seal_run", "seal_run_locked"),
    "_state_root": ("runs_directory", "state_root"),
    "_writing": (
        "append_lifecycle_locked",
        "append_record",
        "append_record_locked",
        "is_sealed",
        "write_document",
        "write_document_locked",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "EvidenceError",
    "NotTraced",
    "RunIsAlive",
    "RunIsBusy",
    "RunIsSealed",
    "UnsafeStateRoot",
    "append_lifecycle_locked",
    "append_record",
    "append_record_locked",
    "finalize_lost",
    "is_sealed",
    "run_lock",
    "runs_directory",
    "seal_run",
    "seal_run_locked",
    "state_root",
    "write_document",
    "write_document_locked",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute may be of any type
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
