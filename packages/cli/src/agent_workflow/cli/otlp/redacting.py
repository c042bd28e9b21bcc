"""Content that leaves the machine is redacted once more: traces of other writers never were."""

import functools
import os

from agent_workflow.cli.otlp.span import Attributes, Span, SpanEvent, Value
from agent_workflow.tracer.viewing import Redactor, secrets_of


def redacted(span: Span) -> None:
    """Replace values of environment variables whose names look secret, in every text of a span."""
    redactor = _redactor()
    span.attributes = _attributes(redactor, span.attributes)
    span.message = redactor.text(span.message)
    span.events = [
        SpanEvent(event.name, event.at, _attributes(redactor, dict(event.attributes))) for event in span.events
    ]


@functools.cache
def _redactor() -> Redactor:
    return Redactor(secrets_of(os.environ))


def _attributes(redactor: Redactor, attributes: Attributes) -> Attributes:
    return {name: _value(redactor, value) for name, value in attributes.items()}


def _value(redactor: Redactor, value: Value) -> Value:
    if isinstance(value, str):
        return redactor.text(value)
    return tuple(redactor.text(item) for item in value) if isinstance(value, tuple) else value
