"""What each kind of question means over a dataset: its table, its filters as conditions, its order.

The conditions are fixed text with parameters; only those whose filter is given become part of a statement, because an
engine passes over row groups by a plain comparison and not by ``$state IS NULL OR …``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_workflow.index_store.export.fields import TABLES, FieldType
from agent_workflow.index_store.queries import KINDS

ATTEMPTS = """
SELECT
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state,
    count(*) AS run_count,
    count(CASE WHEN acceptance_eligible = 1 THEN 1 END) AS acceptance_eligible_count
FROM rows_of_table
WHERE index_state = 'current' AND coalesce(superseded, 0) = 0
GROUP BY
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state
"""

PERFORMANCE = """
SELECT
    host, executor, model, stage, sample_count, avg_elapsed_seconds, avg_first_output_latency_seconds,
    avg_input_tokens, avg_output_tokens,
    provider_billed_sample_count,
    CASE WHEN provider_billed_currency IS NOT NULL THEN billed_average END AS avg_provider_billed_cost,
    provider_billed_currency,
    local_estimated_sample_count,
    CASE WHEN local_estimated_currency IS NOT NULL THEN estimated_average END AS avg_local_estimated_cost,
    local_estimated_currency
FROM (
    SELECT
        host, executor, model, stage,
        count(*) AS sample_count,
        avg(elapsed_seconds) AS avg_elapsed_seconds,
        avg(first_output_latency_seconds) AS avg_first_output_latency_seconds,
        avg(input_tokens) AS avg_input_tokens,
        avg(output_tokens) AS avg_output_tokens,
        count(provider_billed_cost) AS provider_billed_sample_count,
        avg(CAST(provider_billed_cost AS DOUBLE)) AS billed_average,
        CASE WHEN count(DISTINCT billed_in) = 1 THEN nullif(max(billed_in), '') END AS provider_billed_currency,
        count(local_estimated_cost) AS local_estimated_sample_count,
        avg(CAST(local_estimated_cost AS DOUBLE)) AS estimated_average,
        CASE WHEN count(DISTINCT estimated_in) = 1 THEN nullif(max(estimated_in), '') END AS local_estimated_currency
    FROM (
        SELECT
            *,
            CASE WHEN provider_billed_cost IS NOT NULL THEN coalesce(currency, '') END AS billed_in,
            CASE WHEN local_estimated_cost IS NOT NULL THEN coalesce(currency, '') END AS estimated_in
        FROM rows_of_table
        WHERE coalesce(superseded, 0) = 0
    ) AS samples
    GROUP BY host, executor, model, stage
) AS grouped
"""

_CONDITIONS: Mapping[str, str] = {
    "session": "session_id = $session",
    "state": "state = $state",
    "category": "category = $category",
    "executor": "executor = $executor",
    "model": "model = $model",
    "pack": "pack_id = $pack",
}


@dataclass(frozen=True)
class Question:
    """One kind of question.

    Attributes:
        kind: its name.
        table: of the dataset.
        conditions: of its filters other than times.
        time: the expression that ``since`` and ``until`` look at; it decides the partition of a row as well.
        order: newest first, as the index orders.
        select: the statement over ``rows_of_table``; None where the rows themselves are the answer.
        timeless_on_a_day: rows without a time of their own may lie on a day, that of their run.
    """

    kind: str
    table: str
    conditions: Mapping[str, str] = field(default_factory=dict)
    time: str = "recorded_at"
    order: str = "recorded_at DESC NULLS LAST, session_id, host, relative_path, source_sequence DESC"
    select: str | None = None
    timeless_on_a_day: bool = False

    def condition(self, name: str) -> str:
        """Return the condition of a filter, with a parameter of its name."""
        if name in ("since", "until"):
            return f"{self.time} {'>=' if name == 'since' else '<='} ${name}"
        return self.conditions.get(name, _CONDITIONS[name])

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields of the table that the index has in its answer too."""
        added = {"source_digest"} if self.table == "metrics" else {"source_digest", "run_at"}
        return tuple(name for name, _ in columns_of(self.table) if name not in added)


def columns_of(table: str) -> tuple[tuple[str, FieldType], ...]:
    """Return every field of a table with its type."""
    return tuple((column.name, column.field_type) for column in TABLES[table])


_BY_RUN = "session_id, host"
_QUESTIONS = (
    Question(
        "runs",
        "runs",
        {
            "state": "(durable_status = $state OR index_state = $state)",
            "category": "failure_category = $category",
        },
        "coalesce(started_at, created_at)",
        f"coalesce(started_at, created_at) DESC NULLS LAST, {_BY_RUN}",
    ),
    Question("incidents", "incidents"),
    Question("permissions", "permissions"),
    Question("performance", "metrics", order="sample_count DESC, host, executor, model, stage", select=PERFORMANCE),
    Question(
        "workflows",
        "workflows",
        {"session": "owner_run_id = $session", "state": "workflow_state = $state"},
        order="run_at DESC NULLS LAST, workflow_id, host",
    ),
    Question(
        "workflow-nodes",
        "workflow_nodes",
        {"session": "(bound_run_id = $session OR configured_session_id = $session OR owner_run_id = $session)"},
        order="run_at DESC NULLS LAST, workflow_id, node_id, host",
    ),
    Question("errors", "errors", time="detected_at", order="detected_at DESC NULLS LAST, session_id, host"),
    Question(
        "repairs",
        "repairs",
        {"session": "source_session_id = $session"},
        "created_at",
        "created_at DESC NULLS LAST, repair_id, host",
        timeless_on_a_day=True,
    ),
    Question("events", "events", timeless_on_a_day=True),
    Question("health", "health", {"state": "executor_state = $state"}),
    Question("remediations", "remediations"),
    Question(
        "attempts",
        "runs",
        {"state": "evaluation_state = $state", "category": "attempt_classification = $category"},
        order="run_count DESC, host, attempt_classification, executor_result, completion_result, policy_result",
        select=ATTEMPTS,
    ),
    Question("metrics", "metrics", time="run_at", order="run_at DESC NULLS LAST, session_id, host, stage"),
    Question(
        "processes",
        "processes",
        {"category": "error_category = $category"},
        order=f"recorded_at DESC NULLS LAST, {_BY_RUN}",
    ),
    Question(
        "notices",
        "notices",
        time="detected_at",
        order="detected_at DESC NULLS LAST, session_id, host, source_path",
    ),
)

QUESTIONS: Mapping[str, Question] = {question.kind: question for question in _QUESTIONS}
assert QUESTIONS.keys() == KINDS.keys()  # noqa: S101 -- a kind of the index that has no answer here would be a lie
