"""What an export did, as data and as a JSON document."""

from dataclasses import dataclass
from datetime import date

from agent_workflow.index_store.export.tables import TableExport
from agent_workflow.index_store.reports import Freshness
from agent_workflow.index_store.values import Json


@dataclass(frozen=True)
class ExportReport:
    """What an export did (``export-report/v1``).

    Attributes:
        dataset: where it lies.
        host: id of this host in it.
        policy_sha256: digest of the policy.
        freshness: of the index, at the time of the export.
        tables: every table with its rows and what was left out.
        written: parts that were put.
        unchanged: parts that were there already.
        removed: parts that the dataset had before and has no more, and leftovers of a crash.
        retired: partitions that the retention rule removed this time.
        kept_since: first day that the rule keeps; None without a rule.
    """

    dataset: str
    host: str
    policy_sha256: str
    freshness: Freshness
    tables: tuple[TableExport, ...]
    written: int
    unchanged: int
    removed: int
    retired: int
    kept_since: date | None

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document."""
        return {
            "schema": "agent-workflow/export-report/v1",
            "dataset": self.dataset,
            "host": self.host,
            "policy_sha256": self.policy_sha256,
            "freshness": self.freshness.word,
            "current_run_count": self.freshness.current_runs,
            "stale_run_count": self.freshness.stale_runs,
            "error_count": self.freshness.error_runs,
            "parts_written": self.written,
            "parts_unchanged": self.unchanged,
            "parts_removed": self.removed,
            "partitions_retired": self.retired,
            "kept_since": None if self.kept_since is None else self.kept_since.isoformat(),
            "tables": [
                {
                    "table": table.name,
                    "rows": table.rows,
                    "left_out": list(table.left_out),
                    "unrepresentable": dict(table.unrepresentable),
                }
                for table in self.tables
            ],
        }
