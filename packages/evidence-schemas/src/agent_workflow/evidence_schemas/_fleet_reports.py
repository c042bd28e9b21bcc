"""What an export writes beside its rows and says of itself, and the answer of a whole fleet."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, Shape
from agent_workflow.evidence_schemas._index_reports import Authority, Freshness, QueryKind
from agent_workflow.evidence_schemas._scalars import FreeObject, Natural, Positive, Sha256, Text, Texts

HostName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class HostStanding(Shape, extra="forbid"):
    """How the index of a host stood when it exported, and which columns its policy leaves out of the answer."""

    host: HostName
    freshness: Freshness
    current_run_count: Natural
    stale_run_count: Natural
    error_count: Natural
    last_sync_at: str | None
    exported_at: str | None
    kept_since: Day | None
    left_out: Texts


class FleetQuery(Record, extra="forbid"):
    """The answer of every host of a dataset; the freshness is that of the host that stands worst."""

    schema_: Literal["agent-workflow/fleet-query/v1"] = Field(alias="schema")
    dataset: Text
    authority: Authority
    freshness: Freshness
    current_run_count: Natural
    stale_run_count: Natural
    error_count: Natural
    kind: QueryKind
    hosts: list[HostStanding]
    rows: list[FreeObject]


class VerifiedHost(Shape, extra="forbid"):
    """A host of a dataset, with the number of files that its manifest names; null where that cannot be read."""

    host: Text
    file_count: Natural | None


class DatasetFault(Shape, extra="forbid"):
    """A file of a dataset that is not what the manifest of its host says, or a manifest that is none."""

    host: Text
    path: Text
    verdict: Literal["missing", "mismatch", "unreadable"]
    detail: Text


class FleetVerification(Record, extra="forbid"):
    """Whether a dataset is what its manifests say: by the sizes of files, or by their digests."""

    schema_: Literal["agent-workflow/fleet-verification/v1"] = Field(alias="schema")
    dataset: Text
    valid: bool
    file_verification: Literal["full", "sizes"]
    hosts: list[VerifiedHost]
    faults: list[DatasetFault]


class ReportedTable(Shape, extra="forbid"):
    """A table of an export, with the fields that stayed and the number of values that became null, by column."""

    table: Text
    rows: Natural
    left_out: Texts
    unrepresentable: dict[str, Natural]


class ExportReport(Record, extra="forbid"):
    """What an export did."""

    schema_: Literal["agent-workflow/export-report/v1"] = Field(alias="schema")
    dataset: Text
    host: HostName
    policy_sha256: Sha256
    freshness: Freshness
    current_run_count: Natural
    stale_run_count: Natural
    error_count: Natural
    parts_written: Natural
    parts_unchanged: Natural
    parts_removed: Natural
    partitions_retired: Natural
    kept_since: Day | None
    tables: list[ReportedTable]


class ExportedIndex(Shape, extra="forbid"):
    """The index that an export was made from."""

    schema_version: Positive
    generation: str | None
    last_sync_at: str | None
    last_sync_scope: str | None
    freshness: Freshness
    source_run_count: Natural
    current_run_count: Natural
    stale_run_count: Natural
    error_count: Natural
    historical_run_count: Natural


class ExportedPolicy(Shape, extra="forbid"):
    """What left: classes of fields, and single fields beside or in spite of their class."""

    sha256: Sha256
    classes: Texts
    also: Texts
    without: Texts


class RemovedPartition(Shape, extra="forbid"):
    """A day of a table that a retention rule removed."""

    table: Text
    date: Day
    rows: Natural
    sha256: Sha256


class ExportRetention(Shape, extra="forbid"):
    """The first day that is kept, and what was removed by that."""

    kept_since: Day | None
    removed: list[RemovedPartition]


class ExportedTable(Shape, extra="forbid"):
    """A table; ``rows`` are those of the index, whatever the retention rule left."""

    rows: Natural
    columns: Texts
    left_out: Texts
    unrepresentable: dict[str, Natural]


class ExportedPart(Shape, extra="forbid"):
    """A file of the dataset."""

    table: Text
    date: Day
    path: Text
    rows: Natural
    size_bytes: Natural
    sha256: Sha256


class ExportManifest(Record, extra="forbid"):
    """``manifests/host=<id>/manifest.json`` of a dataset: which files are this host's now, and what they are."""

    schema_: Literal["agent-workflow/export-manifest/v1"] = Field(alias="schema")
    host: HostName
    owner: Sha256
    tool_version: Text
    index: ExportedIndex
    policy: ExportedPolicy
    retention: ExportRetention
    tables: dict[str, ExportedTable]
    parts: list[ExportedPart]


class ExportNote(Record, extra="forbid"):
    """``manifests/host=<id>/exported.json`` of a dataset: when this host last exported."""

    schema_: Literal["agent-workflow/export-note/v1"] = Field(alias="schema")
    host: HostName
    exported_at: Text
    manifest_sha256: Sha256
