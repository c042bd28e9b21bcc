"""From a trace database to a receiver or a folder, one session after the other."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agent_workflow.cli._failure import CommandFailed, Failure
from agent_workflow.cli.otlp.encoding import requests
from agent_workflow.cli.otlp.files import write_trace
from agent_workflow.cli.otlp.layout import lay_out
from agent_workflow.cli.otlp.nesting import SESSION
from agent_workflow.cli.otlp.recorded import RecordedSession, read_session
from agent_workflow.cli.otlp.redacting import redacted
from agent_workflow.cli.otlp.resource import resource_attributes
from agent_workflow.cli.otlp.sending import Endpoint
from agent_workflow.cli.otlp.span import Attributes, Span, trace_id
from agent_workflow.tracer import TraceReader


class ExportedSession(NamedTuple):
    """What became of one session.

    Attributes:
        spans: that were handed over.
        held_back: spans of a running session that have no end yet.
        rejected: spans that the receiver refused.
    """

    adw_id: str
    trace_id: str
    spans: int
    held_back: int
    rejected: int


class Destination(Protocol):
    """Takes the requests of one trace.

    Attributes:
        messages: what a receiver said about what it refused, or warned of.
    """

    messages: list[str]

    def take(self, trace: bytes, batches: Iterator[Any]) -> int:
        """Hand them over and return how many spans were refused."""
        ...


class ToFolder:
    """Writes a file for each trace."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.messages: list[str] = []

    def take(self, trace: bytes, batches: Iterator[Any]) -> int:
        """Write them."""
        write_trace(self._folder, trace, batches)
        return 0


class ToEndpoint:
    """Sends to a receiver."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.messages: list[str] = []

    def take(self, trace: bytes, batches: Iterator[Any]) -> int:  # noqa: ARG002 - a folder needs its name
        """Send them one after the other."""
        rejected = 0
        for batch in batches:
            accepted = self._endpoint.send(batch)
            rejected += accepted.rejected
            if accepted.message and accepted.message not in self.messages:
                self.messages.append(accepted.message)
        return rejected


@dataclass(frozen=True)
class Exporter:
    """Exports sessions of one trace database.

    Attributes:
        seals: attributes of the session's span, by session.
        content: also what was asked, said and done.
    """

    reader: TraceReader
    destination: Destination
    seals: Mapping[str, Attributes]
    content: bool = False

    def export(
        self, adw_ids: list[str], progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> Iterator[ExportedSession]:
        """Export one session after the other.

        Args:
            adw_ids: which.
            progress: called after every session.

        Raises:
            TracerError: the database cannot be read.
            CommandFailed: the receiver cannot be reached, or refuses.
            OSError: the folder takes no writes.
        """
        done: list[ExportedSession] = []
        for adw_id in adw_ids:
            try:
                exported = self._one(adw_id)
            except CommandFailed as error:
                raise _with_progress(error.failure, done, len(adw_ids)) from error
            done.append(exported)
            progress(len(done), len(adw_ids))
            yield exported

    def _one(self, adw_id: str) -> ExportedSession:
        session = read_session(self.reader, adw_id)
        spans = lay_out(session, content=self.content)
        for span in spans if self.content else ():
            redacted(span)
        spans[0].attributes |= self.seals.get(adw_id, {})
        ready = spans_to_send(session, spans)
        trace = trace_id(adw_id, str(session.row["started_at"] or ""))
        rejected = 0
        if ready:
            resource = resource_attributes(session.process)
            batches = requests(trace, ready, resource, version("agent-workflow-cli"))
            rejected = self.destination.take(trace, batches)
        return ExportedSession(adw_id, trace.hex(), len(ready), len(spans) - len(ready), rejected)


def spans_to_send(session: RecordedSession, spans: list[Span]) -> list[Span]:
    """Leave out what has no end yet while a session runs: receivers keep what they got first.

    Of a session that is over, what has no end is sent and marked as unfinished.
    """
    is_running = session.row["shown_status"] == "running"
    return [span for span in spans if not (is_running and (span.is_open or span.key == SESSION))]


def _with_progress(failure: Failure, done: list[ExportedSession], wanted: int) -> CommandFailed:
    told = f"{failure.message} ({len(done)} of {wanted} sessions had arrived)"
    return CommandFailed(Failure(failure.code, told, failure.path, failure.hint, failure.exit_code))
