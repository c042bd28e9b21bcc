"""What a fleet answers, as data and as a JSON document."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_workflow.index_store.fleet.hosts import HostStanding, worst
from agent_workflow.index_store.values import AUTHORITY, Json, Value


@dataclass(frozen=True)
class FleetReport:
    """Rows of many hosts with the standing of each (``fleet-query/v1``).

    Attributes:
        dataset: where it lies.
        kind: of the question.
        hosts: every host of the dataset, whether or not it has rows in the answer.
        columns: ``host``, then those of the kind.
        rows: what a host left out is None.
    """

    dataset: str
    kind: str
    hosts: tuple[HostStanding, ...]
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Value], ...]

    @property
    def freshness(self) -> str:
        """The freshness of the host that stands worst."""
        return worst([host.freshness for host in self.hosts])

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document: the envelope of ``index-query/v1`` with the dataset for the database."""
        return {
            "schema": "agent-workflow/fleet-query/v1",
            "dataset": self.dataset,
            "authority": AUTHORITY,
            "freshness": self.freshness,
            "current_run_count": sum(host.current_runs for host in self.hosts),
            "stale_run_count": sum(host.stale_runs for host in self.hosts),
            "error_count": sum(host.error_runs for host in self.hosts),
            "kind": self.kind,
            "hosts": [host.to_document() for host in self.hosts],
            "rows": [dict(row) for row in self.rows],
        }
