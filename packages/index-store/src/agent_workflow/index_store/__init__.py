"""The host-wide evidence index: a rebuildable SQLite projection of run evidence, and the questions it answers.

Names are imported at their first use: a question does not pay for the models that only indexing needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_workflow.index_store.errors import (
        DamagedDatabase,
        ForeignDatabase,
        IndexStoreError,
        InvalidQuestion,
        MissingDatabase,
        NewerDatabase,
        NotWritable,
        OutdatedDatabase,
        UnknownRun,
        UnsafePath,
        WriterBusy,
    )
    from agent_workflow.index_store.freshness import status
    from agent_workflow.index_store.moments import parse_moment
    from agent_workflow.index_store.queries import (
        DEFAULT_LIMIT,
        FILTERS,
        KINDS,
        MAXIMUM_LIMIT,
        Filters,
        IndexReader,
        Selection,
        open_index,
        query,
    )
    from agent_workflow.index_store.reconcile import initialize, rebuild, sync
    from agent_workflow.index_store.reports import Freshness, QueryReport, StatusReport
    from agent_workflow.index_store.state_root import default_state_root
    from agent_workflow.index_store.sync_report import IndexedRun, ReportedNotice, RunError, SyncReport
    from agent_workflow.index_store.verification import verify
    from agent_workflow.index_store.verification_report import ReviewReport, SourceMismatch, VerificationReport

_MODULES = {
    "errors": (
        "DamagedDatabase",
        "ForeignDatabase",
        "IndexStoreError",
        "InvalidQuestion",
        "MissingDatabase",
        "NewerDatabase",
        "NotWritable",
        "OutdatedDatabase",
        "UnknownRun",
        "UnsafePath",
        "WriterBusy",
    ),
    "freshness": ("status",),
    "moments": ("parse_moment",),
    "queries": (
        "DEFAULT_LIMIT",
        "FILTERS",
        "KINDS",
        "MAXIMUM_LIMIT",
        "Filters",
        "IndexReader",
        "Selection",
        "open_index",
        "query",
    ),
    "reconcile": ("initialize", "rebuild", "sync"),
    "reports": ("Freshness", "QueryReport", "StatusReport"),
    "state_root": ("default_state_root",),
    "sync_report": ("IndexedRun", "ReportedNotice", "RunError", "SyncReport"),
    "verification": ("verify",),
    "verification_report": ("ReviewReport", "SourceMismatch", "VerificationReport"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "DEFAULT_LIMIT",
    "FILTERS",
    "KINDS",
    "MAXIMUM_LIMIT",
    "DamagedDatabase",
    "Filters",
    "ForeignDatabase",
    "Freshness",
    "IndexReader",
    "IndexStoreError",
    "IndexedRun",
    "InvalidQuestion",
    "MissingDatabase",
    "NewerDatabase",
    "NotWritable",
    "OutdatedDatabase",
    "QueryReport",
    "ReportedNotice",
    "ReviewReport",
    "RunError",
    "Selection",
    "SourceMismatch",
    "StatusReport",
    "SyncReport",
    "UnknownRun",
    "UnsafePath",
    "VerificationReport",
    "WriterBusy",
    "default_state_root",
    "initialize",
    "open_index",
    "parse_moment",
    "query",
    "rebuild",
    "status",
    "sync",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import the module of a public name (PEP 562)."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
