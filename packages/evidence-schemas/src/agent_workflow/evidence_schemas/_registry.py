"""The registry: which contracts there are, what became of them, and which model reads each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

    from agent_workflow.evidence_schemas._base import Record

Origin = Literal["declared", "observed"]

NAMESPACE = "agent-workflow/"


class ContractStatus(StrEnum):
    """What this package knows about a contract."""

    KNOWN = "known"
    RETIRED = "retired"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Contract:
    """One contract, by the id that its records carry in ``schema``.

    Attributes:
        id: the id, such as ``agent-workflow/completion/v1``.
        status: known, retired, or unknown to this package.
        origin: ``declared`` where a record contract was published, ``observed`` where the fields were inferred from
            genuine records and are a lower bound; ``None`` for an unknown contract.
        files: the file names that records of it are found in, relative to a run directory; may be empty.
    """

    id: str
    status: ContractStatus
    origin: Origin | None = None
    files: tuple[str, ...] = ()
    _model: str | None = field(default=None, repr=False)

    @property
    def model(self) -> type[Record] | None:
        """The model of its records, imported at the first use; ``None`` for an unknown contract."""
        return None if self._model is None else _import_model(self._model)

    @property
    def validator(self) -> SchemaValidator | None:
        """The built validator of the model, for tight loops; ``None`` for an unknown contract."""
        return None if self._model is None else validator_of(_import_model(self._model))


@cache
def _import_model(location: str) -> type[Record]:
    module, name = location.split(":")
    return cast("type[Record]", getattr(import_module(f"agent_workflow.evidence_schemas.{module}"), name))


@cache
def validator_of(model: type[Record]) -> SchemaValidator:
    """Build the validator of a model, once.

    ``model.__pydantic_validator__`` is a stand-in until the model's first use; whoever keeps a reference to it would
    keep the stand-in, which is slower.
    """
    model.model_rebuild()
    return cast("SchemaValidator", model.__pydantic_validator__)


def _declared(name: str, model: str, *files: str) -> Contract:
    return Contract(NAMESPACE + name, ContractStatus.KNOWN, "declared", files, model)


def _observed(name: str, model: str, *files: str) -> Contract:
    return Contract(NAMESPACE + name, ContractStatus.KNOWN, "observed", files, model)


def _retired(name: str, model: str, *files: str) -> Contract:
    return Contract(NAMESPACE + name, ContractStatus.RETIRED, "observed", files, model)


_CONTRACTS: tuple[Contract, ...] = (
    # What a run is and where it stands.
    _declared("session-status/v2", "_status:SessionStatus", "status.json", "final-status.json"),
    _declared("command/v1", "_status:Command", "command.json"),
    _declared("process-result/v1", "_status:ProcessResult", "process-result.json"),
    _declared("agent-context/v1", "_status:AgentContext", "agent-context.json"),
    _observed("preflight/v1", "_status:Preflight", "preflight.json"),
    _declared("launch-contract/v1", "_launch:LaunchContractV1"),
    _declared("launch-contract/v2", "_launch:LaunchContractV2", "launch-contract.json"),
    _declared("traced-launch-contract/v1", "_traced:TracedLaunchContract", "launch-contract.json"),
    _declared("traced-launch-contract/v2", "_traced:ImportedLaunchContract", "launch-contract.json"),
    _declared("command-catalog/v1", "_catalog:CommandCatalog", "command-catalog.json"),
    _declared("run-provenance/v1", "_provenance:RunProvenance", "run-provenance.json"),
    _declared("source-baseline/v1", "_provenance:SourceBaseline", "source-baseline.json"),
    _declared("provider-evidence/v1", "_provenance:ProviderEvidence", "provider-evidence.json"),
    _declared("execution-metrics/v1", "_metrics:ExecutionMetrics", "execution-metrics.json"),
    # Its journals and samples.
    _observed("lifecycle-event/v1", "_journals:LifecycleEvent", "events.jsonl"),
    _declared("assignment-event/v1", "_journals:AssignmentEvent", "assignments.jsonl"),
    _observed("session-message/v1", "_journals:SessionMessage", "messages.jsonl"),
    _declared("control-event/v1", "_journals:ControlEvent", "control-events.jsonl"),
    _observed("steering-delivery/v1", "_journals:SteeringDelivery", "steering-delivery.jsonl"),
    _declared("terminal-event/v1", "_journals:TerminalEvent", "terminal-events.jsonl"),
    _declared("incident-event/v1", "_journals:IncidentEvent", "incident-events.jsonl"),
    _declared("remediation-event/v1", "_journals:RemediationEvent", "remediation-events.jsonl"),
    _declared("permission-event/v1", "_journals:PermissionEvent", "permission-events.jsonl"),
    _declared("run-health-sample/v1", "_health:RunHealthSample", "run-health-samples.jsonl"),
    _observed("heartbeat/v2", "_health:Heartbeat", "heartbeat.json"),
    # What it says it did, and what was made of that.
    _declared("completion/v1", "_completion:Completion", "completion.json", "canonical-completion.json"),
    _declared("completion-collection/v1", "_completion:CompletionCollection", "collections/completion.json"),
    _declared("task-result-collection/v1", "_completion:TaskResultCollection", "collections/task-result.json"),
    _declared("scope-snapshot/v1", "_evaluation:ScopeSnapshot", "scope/scope-baseline.json", "scope/scope-post.json"),
    _declared("evaluation-runtime/v1", "_evaluation:EvaluationRuntime", "evaluation-runtime.json"),
    _declared("evaluation-ledger-row/v1", "_evaluation:EvaluationLedgerRow", "ledger-row.json"),
    _observed("evaluation-report/v1", "_evaluation:EvaluationReport", "reports/evaluation.json"),
    _declared("score-receipt/v1", "_evaluation:ScoreReceipt", "scores/<id>.json"),
    _observed("score-set/v1", "_evaluation:ScoreSet", "scores/score-set.json"),
    _declared("trial-evidence/v2", "_trials:TrialEvidence", "trials.json"),
    # Receipts, archives, repairs.
    _declared("final-receipt/v1", "_receipts:FinalReceipt", "final-receipt.json"),
    _declared("lifecycle-receipt/v1", "_receipts:LifecycleReceipt", "receipts/NNNNNN-<action>.json"),
    _declared("force-accept-receipt/v1", "_receipts:ForceAcceptReceipt", "force-accept-receipt.json"),
    _declared("run-archive/v1", "_receipts:RunArchive", "archive-manifest.json"),
    _declared("lifecycle-archive/v1", "_receipts:LifecycleArchive", "archive-plan.json"),
    _declared("evidence-repair/v1", "_repair:EvidenceRepair", "evidence-repair.json"),
    _declared("evidence-repair-receipt/v1", "_repair:EvidenceRepairReceipt", "repair-receipt.json"),
    # What retention deleted; beside the runs, in `prune-receipts/`.
    _declared("prune-receipt/v1", "_retention:PruneReceipt"),
    # Workflows.
    _declared("workflow-snapshot/v1", "_workflow:WorkflowSnapshot", "workflow-snapshot.json"),
    _declared("workflow-status/v1", "_workflow:WorkflowStatus", "workflow-status.json"),
    _declared("workflow-run/v1", "_workflow:WorkflowRun", "workflow-run.json"),
    _declared("workflow-event/v1", "_workflow:WorkflowEvent"),
    _declared("workflow-input-bindings/v1", "_workflow:WorkflowInputBindings", "workflow-inputs.json"),
    # What the index reports; never inside a run directory.
    _declared("index-query/v1", "_index_reports:IndexQuery"),
    _declared("index-status/v1", "_index_reports:IndexStatus"),
    _declared("index-sync-report/v1", "_index_reports:IndexSyncReport"),
    _declared("index-verification/v1", "_index_reports:IndexVerification"),
    # Of a fleet: what an export reports and writes into its dataset, and the answer of many hosts.
    _declared("export-report/v1", "_fleet_reports:ExportReport"),
    _declared("export-manifest/v1", "_fleet_reports:ExportManifest"),
    _declared("export-note/v1", "_fleet_reports:ExportNote"),
    _declared("fleet-query/v1", "_fleet_reports:FleetQuery"),
    _declared("fleet-verification/v1", "_fleet_reports:FleetVerification"),
    # Retired.
    _retired("execution-metrics/retired-v1", "_retired:RetiredExecutionMetrics", "execution-metrics.json"),
    _retired("command-collection-set/v1", "_retired:CommandCollectionSet", "command-collection.json"),
)

_BY_ID = {contract.id: contract for contract in _CONTRACTS}


def contracts() -> tuple[Contract, ...]:
    """Return every known and retired contract, by concern."""
    return _CONTRACTS


def find_contract(contract_id: str) -> Contract:
    """Look a contract up by its id; an id that is not in the registry gives a contract of status unknown."""
    found = _BY_ID.get(contract_id)
    return Contract(contract_id, ContractStatus.UNKNOWN) if found is None else found
