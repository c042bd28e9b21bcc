"""``agent-workflow export``: recorded runs for the tools that people already have."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._failure import EXIT_NOT_GOOD, EXIT_WRONG_CALL, CommandFailed, Failure
from agent_workflow.cli._output import say, show_document, tell

if TYPE_CHECKING:
    from agent_workflow.cli.otlp.exporting import Destination, ExportedSession
    from agent_workflow.tracer import TracerError

export_app = typer.Typer(
    help="Give recorded runs to the tools that you already have.", rich_markup_mode=None, no_args_is_help=True
)

_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


@export_app.callback()
def export(context: typer.Context, as_json: AsJson = False, state_root: StateRoot = None) -> None:
    """Give recorded runs to the tools that you already have."""
    Call.of(context, as_json, state_root)


@export_app.command()
def otlp(
    context: typer.Context,
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="These sessions; all that are not archived when omitted."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From then on: a date, a time, or an age such as 24h.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="Send to this receiver of OTLP over HTTP.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Write OTLP/JSON there, a file for each trace.")
    ] = None,
    protocol: Annotated[
        Literal["protobuf", "json"], typer.Option("--protocol", help="How requests to an endpoint are encoded.")
    ] = "protobuf",
    db: Annotated[
        Path | None, typer.Option("--db", metavar="FILE", help="Trace database; found from here when omitted.")
    ] = None,
    content: Annotated[
        bool, typer.Option("--content", help="Also what was asked, said and done, redacted; left out otherwise.")
    ] = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Hand traces over as OpenTelemetry spans in the GenAI conventions; repeating it adds nothing."""
    call = Call.of(context, as_json, state_root)
    _check(sessions or [], since, endpoint, to)
    _require_extra()
    from agent_workflow.cli.otlp.exporting import Exporter, ToEndpoint, ToFolder
    from agent_workflow.cli.otlp.seals import Seals
    from agent_workflow.cli.otlp.selection import selected
    from agent_workflow.cli.otlp.sending import Endpoint, headers_from
    from agent_workflow.tracer import TraceReader, TracerError, locate_database

    destination: Destination
    if endpoint is not None:
        destination = ToEndpoint(Endpoint(endpoint, protocol, headers_from(os.environ.get(_HEADERS, ""))))
    else:
        destination = ToFolder(Path(to or ""))
    try:
        with TraceReader(locate_database(db)) as reader:
            adw_ids = selected(reader, sessions or [], since)
            seals = Seals(call.state_root, reader.path)
            exporter = Exporter(reader, destination, seals.of(adw_ids), content)
            exported = list(exporter.export(adw_ids))
            database = reader.path
    except TracerError as error:
        raise CommandFailed(_failure_of_tracer(error)) from error
    if seals.trouble is not None:
        tell(f"the index cannot be asked for seals: {seals.trouble}")
    messages = destination.messages if isinstance(destination, ToEndpoint) else []
    place = str(to) if endpoint is None else endpoint
    _report(call, database, place, exported, messages)


def _check(sessions: list[str], since: str | None, endpoint: str | None, to: Path | None) -> None:
    if (endpoint is None) == (to is None):
        raise _wrong("name either --endpoint or --to", "agent-workflow export otlp --help")
    if sessions and since is not None:
        raise _wrong("--since has no meaning beside named sessions", "leave one of them out")


def _wrong(message: str, hint: str) -> CommandFailed:
    return CommandFailed(Failure("usage_error", message, hint=hint, exit_code=EXIT_WRONG_CALL))


def _require_extra() -> None:
    try:
        import opentelemetry.proto.trace.v1.trace_pb2  # noqa: F401 - only whether it is there
    except ModuleNotFoundError as error:
        message = f"what encodes OTLP is not installed ({error.name} is missing)"
        hint = "pip install 'agent-workflow-cli[otlp]'"
        raise CommandFailed(Failure("missing_extra", message, hint=hint, exit_code=EXIT_WRONG_CALL)) from error


def _failure_of_tracer(error: "TracerError") -> Failure:
    name = type(error).__name__
    code = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    exit_code = {"ConfigError": 2, "NotATrace": 3}.get(name, EXIT_NOT_GOOD)
    path = None if error.path is None else str(error.path)
    return Failure(code, str(error) if path is None else f"{path}: {error}", path, error.hint, exit_code)


def _report(call: Call, database: Path, place: str, exported: "list[ExportedSession]", messages: list[str]) -> None:
    rejected = sum(session.rejected for session in exported)
    spans, held_back = (sum(getattr(session, name) for session in exported) for name in ("spans", "held_back"))
    if call.as_json:
        show_document(
            {
                "schema": "agent-workflow/otlp-export/v1",
                "database": str(database),
                "destination": place,
                "spans": spans,
                "held_back": held_back,
                "rejected": rejected,
                "messages": messages,
                "sessions": [session._asdict() for session in exported],
            }
        )
    else:
        say(f"{len(exported)} sessions, {spans} spans: {place}")
        if held_back:
            say(f"{held_back} spans of sessions that run have no end yet; export again when they are over")
    for message in messages:
        tell(f"the receiver says: {message}")
    if rejected:
        tell(f"{rejected} of {spans} spans were refused")
        raise typer.Exit(EXIT_NOT_GOOD)
