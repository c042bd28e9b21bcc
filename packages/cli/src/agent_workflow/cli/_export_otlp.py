"""``agent-workflow export``: recorded runs for the tools that people already have."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._cells import counted
from agent_workflow.cli._extras import needs_extra
from agent_workflow.cli._failure import EXIT_NOT_GOOD, CommandFailed, usage_error
from agent_workflow.cli._output import say, show_document, tell
from agent_workflow.cli._progress import RunProgress

if TYPE_CHECKING:
    from agent_workflow.cli.otlp.exporting import Destination, ExportedSession

export_app = typer.Typer(
    help="Give recorded runs to the tools that you already have.", rich_markup_mode=None, no_args_is_help=True
)


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
        str | None,
        typer.Option(
            "--endpoint",
            metavar="URL",
            help="Send to this receiver of OTLP over HTTP; without --to, that of $OTEL_EXPORTER_OTLP_ENDPOINT.",
        ),
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
    if to is not None and endpoint is not None:
        raise _no_destination()
    if sessions and since is not None:
        raise usage_error("--since has no meaning beside named sessions", "leave one of them out")
    with needs_extra("otlp", "what encodes OTLP"):
        from agent_workflow.cli.otlp.exporting import Exporter
    from agent_workflow.cli.otlp.seals import Seals
    from agent_workflow.cli.otlp.selection import selected
    from agent_workflow.tracer import TraceReader, locate_database

    destination, place = _destination(to, endpoint, protocol, content=content)
    with TraceReader(locate_database(db)) as reader, RunProgress("exported", "sessions") as progress:
        adw_ids = selected(reader, sessions or [], since)
        seals = Seals(call.state_root, reader.path)
        exporter = Exporter(reader, destination, seals.of(adw_ids), content)
        exported = list(exporter.export(adw_ids, progress))
        database = reader.path
    if seals.trouble is not None:
        tell(f"the index cannot be asked for seals: {seals.trouble}")
    _report(call, database, place, exported, destination.messages)


def _destination(
    to: Path | None, endpoint: str | None, protocol: Literal["protobuf", "json"], *, content: bool
) -> "tuple[Destination, str]":
    """Return where spans go, and how that is called."""
    from agent_workflow.cli.otlp.exporting import ToEndpoint, ToFolder
    from agent_workflow.cli.otlp.receiver import receiver_of
    from agent_workflow.cli.otlp.sending import Endpoint

    if to is not None:
        if to.exists() and not to.is_dir():
            raise usage_error(f"{to} is no directory", "name one, or a new one")
        return ToFolder(to), str(to)
    receiver = receiver_of(endpoint, os.environ)
    if receiver is None:
        raise _no_destination()
    if receiver.is_in_the_clear and (receiver.headers or content):
        what = "content" if content else "headers of the environment"
        tell(f"{what} can be read on the way to {receiver.url}; https would keep that from happening")
    return ToEndpoint(Endpoint(receiver, protocol, note=tell)), receiver.url


def _no_destination() -> CommandFailed:
    return usage_error("name either --endpoint or --to", "agent-workflow export otlp --help")


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
        say(f"{counted(len(exported), 'session')}, {counted(spans, 'span')}: {place}")
        if held_back:
            say(f"{counted(held_back, 'span')} without an end held back; export again when their sessions are over")
    for message in messages:
        tell(f"the receiver says: {message}")
    if rejected:
        tell(f"refused: {rejected} of {counted(spans, 'span')}")
        raise typer.Exit(EXIT_NOT_GOOD)
