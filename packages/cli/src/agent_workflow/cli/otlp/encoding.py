"""Spans as the messages of OTLP, and those as bytes: protobuf, or JSON with the ids in hexadecimal digits."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Status
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from agent_workflow.cli.otlp.resource import SCOPE
from agent_workflow.cli.otlp.span import Attributes, Span, Value, span_id

MOST_SPANS: Final = 500
MOST_BYTES: Final = 2 * 1024 * 1024
"""Of one request; a single span that is larger goes by itself."""

_KINDS = {"internal": SpanMessage.SPAN_KIND_INTERNAL, "client": SpanMessage.SPAN_KIND_CLIENT}
_IDS = ("traceId", "spanId", "parentSpanId")


def requests(trace: bytes, spans: Iterable[Span], resource: Attributes, version: str) -> Iterator[Any]:
    """Put the spans of one trace into requests of a bounded size.

    Args:
        trace: its id.
        spans: in any order.
        resource: who recorded it.
        version: of the program that exports.

    Returns:
        ``ExportTraceServiceRequest`` messages.
    """
    batch: list[SpanMessage] = []
    size = 0
    for message in (_message(trace, span) for span in spans):
        length = message.ByteSize()
        if batch and (len(batch) == MOST_SPANS or size + length > MOST_BYTES):
            yield _request(batch, resource, version)
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield _request(batch, resource, version)


def as_json(request: Any) -> str:  # noqa: ANN401 - a generated message
    """Write a request as one line of OTLP/JSON."""
    document = MessageToDict(request, use_integers_for_enums=True)
    for resource in document.get("resourceSpans", []):
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                # JSON of protobuf writes bytes in base64; OTLP asks for hexadecimal digits.
                span.update({name: base64.b64decode(span[name]).hex() for name in _IDS if name in span})
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"), sort_keys=True)


def _request(batch: Iterable[SpanMessage], resource: Attributes, version: str) -> ExportTraceServiceRequest:
    resource_spans = ResourceSpans()
    resource_spans.resource.attributes.extend(_pairs(resource))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name, scope_spans.scope.version = SCOPE, version
    scope_spans.spans.extend(batch)
    return ExportTraceServiceRequest(resource_spans=[resource_spans])


def _message(trace: bytes, span: Span) -> SpanMessage:
    message = SpanMessage(
        trace_id=trace,
        span_id=span_id(trace, span.key),
        parent_span_id=b"" if span.parent is None else span_id(trace, span.parent),
        name=_valid(span.name),
        kind=_KINDS[span.kind],
        start_time_unix_nano=span.start,
        end_time_unix_nano=span.end,
        attributes=_pairs(span.attributes),
        # A parent that is not in this request may come in another one, or when its run is over.
        flags=0x100,  # whether the parent is remote is known, and it is not
    )
    for event in span.events:
        message.events.add(name=_valid(event.name), time_unix_nano=event.at, attributes=_pairs(event.attributes))
    if span.failed is not None:
        code = Status.STATUS_CODE_ERROR if span.failed else Status.STATUS_CODE_OK
        message.status.CopyFrom(Status(code=code, message=_valid(span.message) if span.failed else ""))
    return message


def _pairs(attributes: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any_value(attributes[name])) for name in sorted(attributes)]


def _any_value(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        # Beyond 64 bits there is no integer; the digits still tell.
        return AnyValue(int_value=value) if -(2**63) <= value < 2**63 else AnyValue(string_value=str(value))
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=_valid(value))
    found = AnyValue()
    found.array_value.values.extend(AnyValue(string_value=_valid(item)) for item in value)
    return found


def _valid(text: str) -> str:
    """Replace lone surrogates, which protobuf does not take."""
    return text.encode("utf-8", "replace").decode("utf-8")
