"""Record contracts of agent-workflow evidence: the models, their registry and what goes with them.

Every name is imported at its first use: a program that reads one contract pays for one contract.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_workflow.evidence_schemas._base import Record, Shape
    from agent_workflow.evidence_schemas._catalog import CommandCatalog
    from agent_workflow.evidence_schemas._completion import (
        CommandResult,
        Completion,
        CompletionCollection,
        CriterionResult,
        TaskResultCollection,
    )
    from agent_workflow.evidence_schemas._evaluation import (
        EvaluationLedgerRow,
        EvaluationReport,
        EvaluationRuntime,
        ScopeSnapshot,
        ScoreReceipt,
        ScoreSet,
    )
    from agent_workflow.evidence_schemas._faults import describe_faults
    from agent_workflow.evidence_schemas._fleet_reports import (
        ExportManifest,
        ExportNote,
        ExportReport,
        FleetQuery,
        FleetVerification,
    )
    from agent_workflow.evidence_schemas._health import Heartbeat, HostSample, ProcessSample, RunHealthSample
    from agent_workflow.evidence_schemas._index_reports import (
        IndexQuery,
        IndexStatus,
        IndexSyncReport,
        IndexVerification,
        QuarantinedRun,
        SyncError,
        SyncNotice,
    )
    from agent_workflow.evidence_schemas._journals import (
        AssignmentEvent,
        ControlEvent,
        IncidentEvent,
        LifecycleEvent,
        PermissionEvent,
        RemediationEvent,
        SessionMessage,
        SteeringDelivery,
        TerminalEvent,
    )
    from agent_workflow.evidence_schemas._json_schema import json_schema
    from agent_workflow.evidence_schemas._key_count import fixed_key_count
    from agent_workflow.evidence_schemas._launch import LaunchContractV1, LaunchContractV2
    from agent_workflow.evidence_schemas._metrics import ExecutionMetrics, StageError, StageMetrics, TokenUsage
    from agent_workflow.evidence_schemas._provenance import ProviderEvidence, RunProvenance, SourceBaseline
    from agent_workflow.evidence_schemas._receipts import (
        FinalReceipt,
        ForceAcceptReceipt,
        LifecycleArchive,
        LifecycleReceipt,
        ReceiptArtifact,
        RunArchive,
    )
    from agent_workflow.evidence_schemas._registry import (
        Contract,
        ContractStatus,
        contracts,
        find_contract,
        validator_of,
    )
    from agent_workflow.evidence_schemas._repair import EvidenceRepair, EvidenceRepairReceipt
    from agent_workflow.evidence_schemas._retention import PrunedFile, PruneReceipt
    from agent_workflow.evidence_schemas._retired import CommandCollectionSet, RetiredExecutionMetrics
    from agent_workflow.evidence_schemas._status import AgentContext, Command, Preflight, ProcessResult, SessionStatus
    from agent_workflow.evidence_schemas._traced import ImportedLaunchContract, TracedLaunchContract
    from agent_workflow.evidence_schemas._trials import Trial, TrialCollection, TrialEvidence
    from agent_workflow.evidence_schemas._workflow import (
        WorkflowEvent,
        WorkflowInputBindings,
        WorkflowRun,
        WorkflowSnapshot,
        WorkflowStatus,
    )

__all__ = [
    "AgentContext",
    "AssignmentEvent",
    "Command",
    "CommandCatalog",
    "CommandCollectionSet",
    "CommandResult",
    "Completion",
    "CompletionCollection",
    "Contract",
    "ContractStatus",
    "ControlEvent",
    "CriterionResult",
    "EvaluationLedgerRow",
    "EvaluationReport",
    "EvaluationRuntime",
    "EvidenceRepair",
    "EvidenceRepairReceipt",
    "ExecutionMetrics",
    "ExportManifest",
    "ExportNote",
    "ExportReport",
    "FinalReceipt",
    "FleetQuery",
    "FleetVerification",
    "ForceAcceptReceipt",
    "Heartbeat",
    "HostSample",
    "ImportedLaunchContract",
    "IncidentEvent",
    "IndexQuery",
    "IndexStatus",
    "IndexSyncReport",
    "IndexVerification",
    "LaunchContractV1",
    "LaunchContractV2",
    "LifecycleArchive",
    "LifecycleEvent",
    "LifecycleReceipt",
    "PermissionEvent",
    "Preflight",
    "ProcessResult",
    "ProcessSample",
    "ProviderEvidence",
    "PruneReceipt",
    "PrunedFile",
    "QuarantinedRun",
    "ReceiptArtifact",
    "Record",
    "RemediationEvent",
    "RetiredExecutionMetrics",
    "RunArchive",
    "RunHealthSample",
    "RunProvenance",
    "ScopeSnapshot",
    "ScoreReceipt",
    "ScoreSet",
    "SessionMessage",
    "SessionStatus",
    "Shape",
    "SourceBaseline",
    "StageError",
    "StageMetrics",
    "SteeringDelivery",
    "SyncError",
    "SyncNotice",
    "TaskResultCollection",
    "TerminalEvent",
    "TokenUsage",
    "TracedLaunchContract",
    "Trial",
    "TrialCollection",
    "TrialEvidence",
    "WorkflowEvent",
    "WorkflowInputBindings",
    "WorkflowRun",
    "WorkflowSnapshot",
    "WorkflowStatus",
    "contracts",
    "describe_faults",
    "find_contract",
    "fixed_key_count",
    "json_schema",
    "validator_of",
]

_NAMES_OF_MODULE = {
    "_base": ("Record", "Shape"),
    "_catalog": ("CommandCatalog",),
    "_completion": ("CommandResult", "Completion", "CompletionCollection", "CriterionResult", "TaskResultCollection"),
    "_evaluation": (
        "EvaluationLedgerRow",
        "EvaluationReport",
        "EvaluationRuntime",
        "ScopeSnapshot",
        "ScoreReceipt",
        "ScoreSet",
    ),
    "_faults": ("describe_faults",),
    "_health": ("Heartbeat", "HostSample", "ProcessSample", "RunHealthSample"),
    "_index_reports": (
        "IndexQuery",
        "IndexStatus",
        "IndexSyncReport",
        "IndexVerification",
        "QuarantinedRun",
        "SyncError",
        "SyncNotice",
    ),
    "_journals": (
        "AssignmentEvent",
        "ControlEvent",
        "IncidentEvent",
        "LifecycleEvent",
        "PermissionEvent",
        "RemediationEvent",
        "SessionMessage",
        "SteeringDelivery",
        "TerminalEvent",
    ),
    "_fleet_reports": ("ExportManifest", "ExportNote", "ExportReport", "FleetQuery", "FleetVerification"),
    "_json_schema": ("json_schema",),
    "_key_count": ("fixed_key_count",),
    "_launch": ("LaunchContractV1", "LaunchContractV2"),
    "_metrics": ("ExecutionMetrics", "StageError", "StageMetrics", "TokenUsage"),
    "_provenance": ("ProviderEvidence", "RunProvenance", "SourceBaseline"),
    "_receipts": (
        "FinalReceipt",
        "ForceAcceptReceipt",
        "LifecycleArchive",
        "LifecycleReceipt",
        "ReceiptArtifact",
        "RunArchive",
    ),
    "_registry": ("Contract", "ContractStatus", "contracts", "find_contract", "validator_of"),
    "_repair": ("EvidenceRepair", "EvidenceRepairReceipt"),
    "_retention": ("PrunedFile", "PruneReceipt"),
    "_retired": ("CommandCollectionSet", "RetiredExecutionMetrics"),
    "_status": ("AgentContext", "Command", "Preflight", "ProcessResult", "SessionStatus"),
    "_traced": ("ImportedLaunchContract", "TracedLaunchContract"),
    "_trials": ("Trial", "TrialCollection", "TrialEvidence"),
    "_workflow": ("WorkflowEvent", "WorkflowInputBindings", "WorkflowRun", "WorkflowSnapshot", "WorkflowStatus"),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULE.items() for name in names}


def __getattr__(name: str) -> object:
    """Import the module of a public name (PEP 562)."""
    module = _MODULE_OF_NAME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
