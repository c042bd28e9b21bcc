"""The documents of a run that its row is made of, picked by name and only where their contract is the expected one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from agent_workflow.evidence_schemas import (
    CompletionCollection,
    EvaluationLedgerRow,
    ExecutionMetrics,
    FinalReceipt,
    ImportedLaunchContract,
    LaunchContractV1,
    LaunchContractV2,
    ProcessResult,
    Record,
    RunProvenance,
    ScoreSet,
    SessionStatus,
    TracedLaunchContract,
    WorkflowRun,
    WorkflowSnapshot,
    WorkflowStatus,
)

R = TypeVar("R", bound=Record)

PlannedLaunch = LaunchContractV1 | LaunchContractV2
"""Launch contracts of one agent's run: they plan its command."""
TracedLaunch = TracedLaunchContract | ImportedLaunchContract
"""Launch contracts of a recorded workflow and of an imported session: they say where the trace lies."""
LaunchContract = PlannedLaunch | TracedLaunch

LAUNCH = "launch-contract.json"
FINAL_STATUS = "final-status.json"
STATUS = "status.json"
PROVENANCE = "run-provenance.json"
PROCESS_RESULT = "process-result.json"
METRICS = "execution-metrics.json"
LEDGER_ROW = "ledger-row.json"
COMPLETION_COLLECTION = "collections/completion.json"
SCORE_SET = "scores/score-set.json"
FINAL_RECEIPT = "final-receipt.json"
WORKFLOW_SNAPSHOT = "workflow-snapshot.json"
WORKFLOW_STATUS = "workflow-status.json"
WORKFLOW_RUN = "workflow-run.json"

PROJECTED_DOCUMENTS = frozenset(
    {
        LAUNCH,
        FINAL_STATUS,
        STATUS,
        PROVENANCE,
        PROCESS_RESULT,
        METRICS,
        LEDGER_ROW,
        COMPLETION_COLLECTION,
        SCORE_SET,
        FINAL_RECEIPT,
        WORKFLOW_SNAPSHOT,
        WORKFLOW_STATUS,
        WORKFLOW_RUN,
    }
)
"""Names whose records are kept until the run's rows are made; any other document is validated and let go."""


@dataclass(frozen=True)
class RunDocuments:
    """The validated documents of one run; None where a file is missing or follows a contract of another kind."""

    launch: LaunchContract | None
    final_status: SessionStatus | None
    status: SessionStatus | None
    """``final-status.json``, else ``status.json``."""
    provenance: RunProvenance | None
    process_result: ProcessResult | None
    metrics: ExecutionMetrics | None
    ledger_row: EvaluationLedgerRow | None
    completion: CompletionCollection | None
    score_set: ScoreSet | None
    receipt: FinalReceipt | None
    workflow_snapshot: WorkflowSnapshot | None
    workflow_status: WorkflowStatus | None
    """``workflow-status.json``, else the status nested in ``workflow-run.json``."""

    @property
    def planned_launch(self) -> PlannedLaunch | None:
        """The launch contract, where the run is one agent's."""
        return self.launch if isinstance(self.launch, PlannedLaunch) else None

    @property
    def traced_launch(self) -> TracedLaunch | None:
        """The launch contract, where the run is a recorded workflow or an imported session."""
        return self.launch if isinstance(self.launch, TracedLaunch) else None


def pick_documents(records: Mapping[str, Record]) -> RunDocuments:
    """Sort the records of :data:`PROJECTED_DOCUMENTS` into their places.

    Args:
        records: validated records by their path below the run directory.
    """
    final_status = _as(SessionStatus, records.get(FINAL_STATUS))
    workflow_run = _as(WorkflowRun, records.get(WORKFLOW_RUN))
    nested = None if workflow_run is None else workflow_run.status
    return RunDocuments(
        launch=as_launch(records.get(LAUNCH)),
        final_status=final_status,
        status=final_status or _as(SessionStatus, records.get(STATUS)),
        provenance=_as(RunProvenance, records.get(PROVENANCE)),
        process_result=_as(ProcessResult, records.get(PROCESS_RESULT)),
        metrics=_as(ExecutionMetrics, records.get(METRICS)),
        ledger_row=_as(EvaluationLedgerRow, records.get(LEDGER_ROW)),
        completion=_as(CompletionCollection, records.get(COMPLETION_COLLECTION)),
        score_set=_as(ScoreSet, records.get(SCORE_SET)),
        receipt=_as(FinalReceipt, records.get(FINAL_RECEIPT)),
        workflow_snapshot=_as(WorkflowSnapshot, records.get(WORKFLOW_SNAPSHOT)),
        workflow_status=_as(WorkflowStatus, records.get(WORKFLOW_STATUS)) or nested,
    )


def as_launch(record: Record | None) -> LaunchContract | None:
    """Return a record that is a launch contract of a known kind."""
    return record if isinstance(record, LaunchContract) else None


def _as(model: type[R], record: Record | None) -> R | None:
    return record if isinstance(record, model) else None
