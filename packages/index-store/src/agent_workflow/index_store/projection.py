"""From validated records to rows of the journal tables. Pure: no file, no database.

What may enter the database is decided here. Text that people or agents wrote (terminal content, messages, prompts,
completion prose, provider payloads, the reason of a remediation) never does; an incident's summary does, bounded.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from agent_workflow.evidence_schemas import (
    IncidentEvent,
    PermissionEvent,
    Record,
    RemediationEvent,
    RunHealthSample,
)
from agent_workflow.index_store.errors import InvalidRecord
from agent_workflow.index_store.records import CONTRACT_SHAPE, MAXIMUM_NAME_CHARACTERS, ParsedRecord
from agent_workflow.index_store.values import Row, Value

_SUMMARY_CHARACTERS = 2048
_INT64 = range(-(2**63), 2**63)

# Column of `events`, and the fields it comes from; the first that is present counts.
GENERIC_FIELDS: dict[str, tuple[str, ...]] = {
    "event_id": ("event_id", "incident_id", "message_id"),
    "recorded_at": ("recorded_at", "timestamp", "created_at"),
    "event_kind": ("kind", "dimension", "type"),
    "category": ("category", "failure_category"),
    "state": ("state", "new"),
    "outcome": ("outcome", "result"),
    "actor": ("actor",),
    "correlation_id": ("correlation_id",),
    "fingerprint": ("fingerprint",),
    "content_sha256": ("content_sha256",),
}

# A record outside our contracts is somebody's payload. These say where it stands and nothing of what it says, and
# only in the shape of a name or a time: in a provider's stream `result` is the agent's prose, not an outcome.
_PAYLOAD_FIELDS = {"event_id": "event_id", "recorded_at": "timestamp", "event_kind": "type"}
_NAME_SHAPE = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,63}", re.ASCII)
_ID_SHAPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}", re.ASCII)
_TIME_SHAPE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)", re.ASCII)
_PAYLOAD_SHAPES = {"event_id": _ID_SHAPE, "recorded_at": _TIME_SHAPE, "event_kind": _NAME_SHAPE}


RecordKey = tuple[str, str, int]
"""Where a record stands: session id, path below the run directory, number of its line from 1."""


def schema_id_of(record: ParsedRecord) -> str | None:
    """Return the contract id that a record names, where it has the shape of one."""
    if record.contract is not None and record.model is not None:
        return record.contract.id
    name = record.value.get("schema") if isinstance(record.value, dict) else None
    if isinstance(name, str) and len(name) <= MAXIMUM_NAME_CHARACTERS and CONTRACT_SHAPE.fullmatch(name):
        return name
    return None


_GENERIC_COLUMNS = len(GENERIC_FIELDS) + 1  # and the summary
_NO_FIELD = ""


@dataclass(frozen=True)
class GenericColumns:
    """Copies the columns of ``events`` out of the models of one contract.

    Attributes:
        filled: index of each column that the contract can fill, with the fields it comes from.
        has_summary: the contract's summary may be copied.
        texts: for each column its field, where every column has one at most and every field is a text or nothing.
    """

    filled: tuple[tuple[int, tuple[str, ...]], ...]
    has_summary: bool
    texts: tuple[str, ...] | None

    @classmethod
    def of_model(cls, model: type[Record]) -> "GenericColumns":
        """Work out which fields a model has; fields that a contract merely tolerates are not copied."""
        candidates = [tuple(name for name in names if name in model.model_fields) for names in GENERIC_FIELDS.values()]
        filled = tuple((index, names) for index, names in enumerate(candidates) if names)
        has_summary = model is IncidentEvent
        only_texts = not has_summary and all(
            len(names) == 1 and _is_text(model.model_fields[names[0]].annotation) for _, names in filled
        )
        texts = (*(names[0] if names else _NO_FIELD for names in candidates), _NO_FIELD)
        return cls(filled, has_summary, texts if only_texts else None)

    def read(self, record: Record, path: str, line: int) -> list[Value]:
        """Return the ten generic columns and the summary.

        Raises:
            InvalidRecord: an integer is larger than the database keeps.
        """
        fields = record.__dict__
        if self.texts is not None:
            return [*map(fields.get, self.texts)]
        values: list[Value] = [None] * _GENERIC_COLUMNS
        for index, names in self.filled:
            for name in names:
                value = fields[name]
                if value is not None:
                    values[index] = value if type(value) is str else _scalar(value, path, line)
                    break
        if self.has_summary:
            values[-1] = fields["summary"][:_SUMMARY_CHARACTERS]
        return values


def _is_text(annotation: object) -> bool:
    """Tell whether a field holds a string or None and nothing else, so that it can be copied as it is."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_text(get_args(annotation)[0])
    if origin is Literal:
        return all(isinstance(value, str) for value in get_args(annotation))
    if origin in (Union, UnionType):
        return all(_is_text(part) for part in get_args(annotation))
    return annotation in (str, NoneType)


def payload_columns(record: ParsedRecord) -> list[Value]:
    """Return the generic columns of a record that has no model: provenance, and where it stands in its stream."""
    values: list[Value] = [None] * _GENERIC_COLUMNS
    if record.contract is not None or not isinstance(record.value, dict):
        return values
    for index, column in enumerate(GENERIC_FIELDS):
        name = _PAYLOAD_FIELDS.get(column)
        value = record.value.get(name) if name is not None else None
        if isinstance(value, str) and _PAYLOAD_SHAPES[column].fullmatch(value):
            values[index] = value
    return values


def _scalar(value: object, path: str, line: int) -> Value:
    """Keep a string, a number or a boolean; anything else is not copied."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        if value not in _INT64:
            raise InvalidRecord("an integer is outside the 64 bits of the index", path, line)
        return value
    return value if isinstance(value, (str, float)) else None


# Of the record that an index reads most: the fields of its three shapes, in the order of the columns.
_executor_columns = itemgetter(
    "alive",
    "state",
    "cpu_user_seconds",
    "cpu_system_seconds",
    "rss_bytes",
    "peak_rss_bytes",
    "read_bytes",
    "write_bytes",
    "open_fd_count",
    "child_process_count",
)
_host_columns = itemgetter("load_1m", "available_memory_bytes", "disk_free_bytes")
_sample_columns = itemgetter(
    "output_bytes",
    "stderr_bytes",
    "executor_event_bytes",
    "terminal_event_bytes",
    "last_semantic_progress_at",
    "seconds_since_semantic_progress",
    "last_semantic_progress_source",
)


def health_columns(sample: RunHealthSample) -> Row:
    """Return the columns of ``health_samples`` between its key and its digest."""
    return (
        sample.recorded_at,
        sample.runner.alive,
        *_executor_columns(sample.executor.__dict__),
        *_host_columns(sample.host.__dict__),
        *_sample_columns(sample.__dict__),
    )


def permission_columns(event: PermissionEvent) -> Row:
    """Return the columns of ``permission_events`` between its key and its digest."""
    return (
        event.event_id,
        event.recorded_at,
        event.principal,
        event.operation,
        event.resource_class,
        event.target,
        event.requested_access,
        event.state,
        event.source,
        event.policy_rule_id,
        event.evidence_sha256,
        event.remediation_class,
    )


def incident_columns(event: IncidentEvent) -> Row:
    """Return the columns of ``incident_events`` between its key and its digest."""
    return (
        event.incident_id,
        event.recorded_at,
        event.category,
        event.severity,
        event.summary[:_SUMMARY_CHARACTERS],
        event.fingerprint,
        event.state,
    )


def remediation_columns(event: RemediationEvent) -> Row:
    """Return the columns of ``remediation_events`` between its key and its digest; of the reason only its digest."""
    return (
        event.event_id,
        event.incident_id,
        event.recorded_at,
        event.rule_id,
        event.action,
        event.outcome,
        sha256(event.reason.encode()).hexdigest(),
    )


class TypedTable(NamedTuple):
    """A journal table beside ``events`` and how a record becomes its row."""

    name: str
    columns: Callable[[Any], Row]  # each takes the model it is registered for


TYPED_TABLES: dict[type[Record], TypedTable] = {
    RunHealthSample: TypedTable("health_samples", health_columns),
    PermissionEvent: TypedTable("permission_events", permission_columns),
    IncidentEvent: TypedTable("incident_events", incident_columns),
    RemediationEvent: TypedTable("remediation_events", remediation_columns),
}
