"""``agent-workflow trace``: look at recorded runs, stop them, fill their database again."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_workflow.cli._call import AsJson, Call, seconds
from agent_workflow.cli._cells import counted
from agent_workflow.cli._failure import CommandFailed, Failure, usage_error
from agent_workflow.cli._output import flush_stdout, say, show_trace_document, tell
from agent_workflow.cli._terminal_text import printable
from agent_workflow.cli._trace_columns import EVENTS, OUTCOMES, PHASES, PROCESSES, SESSIONS, event_line, show_rows
from agent_workflow.cli._trace_import import import_command

trace_app = typer.Typer(help="Look at recorded runs, stop them, fill their database again.", no_args_is_help=True)

Db = Annotated[Path | None, typer.Option("--db", metavar="FILE", help="Trace database; found from here when omitted.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="At most so many.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show all of every value.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The session.")]


@trace_app.callback()
def trace(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Look at recorded runs, stop them, fill their database again."""
    Call.of(ctx, as_json, None)


@trace_app.command()
def sessions(
    ctx: typer.Context,
    db: Db = None,
    show_all: Annotated[bool, typer.Option("--all", help="Also archived ones.")] = False,
    limit: Limit = 20,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List sessions, newest first, with the status that is true now."""
    call = Call.of(ctx, as_json, None)
    with _reader(db) as reader:
        rows = reader.sessions(limit=limit, include_archived=show_all)
        if call.as_json:
            show_trace_document("trace-sessions", reader.path, sessions=rows)
        else:
            say(*show_rows(rows, SESSIONS, wide=wide, none="no sessions"))


@trace_app.command()
def phases(ctx: typer.Context, adw_id: Id, db: Db = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """Show the phases of a session in order."""
    call = Call.of(ctx, as_json, None)
    with _reader(db) as reader:
        reader.session(adw_id)
        rows = reader.phases(adw_id)
        if call.as_json:
            show_trace_document("trace-phases", reader.path, session=adw_id, phases=rows)
        else:
            say(*show_rows(rows, PHASES, wide=wide, none="no phases"))


@trace_app.command()
def events(
    ctx: typer.Context,
    adw_id: Id,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only this type; may be repeated.")
    ] = None,
    after: Annotated[int, typer.Option("--after", metavar="ROWID", min=0, help="Only those behind this rowid.")] = 0,
    limit: Limit = 500,
    db: Db = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Show events of a session, oldest first."""
    call = Call.of(ctx, as_json, None)
    with _reader(db) as reader:
        reader.session(adw_id)
        page = reader.events(adw_id, after=after, limit=limit, types=tuple(types or ()))
        if call.as_json:
            show_trace_document(
                "trace-events", reader.path, session=adw_id, generation=page.generation, cursor=page.cursor,
                has_more=page.has_more, events=page.events,
            )  # fmt: skip
            return
        say(*show_rows(page.events, EVENTS, wide=wide, none="no events"))
        if page.has_more:
            tell(f"there are more: --after {page.cursor}")


@trace_app.command()
def tail(
    ctx: typer.Context,
    adw_id: Id,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the session ends.")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest events of a session, and with -f those that come."""
    call = Call.of(ctx, as_json, None)
    if follow and call.as_json:
        raise usage_error("--follow prints lines as they come, it cannot be one JSON document", "leave one of them out")
    path = _database(db)
    with _reader(path) as reader:
        page = reader.events(adw_id, limit=25, newest=True)
        reader.session(adw_id)
    if call.as_json:
        show_trace_document("trace-tail", path, session=adw_id, cursor=page.cursor, events=page.events)
        return
    say(*map(event_line, page.events))
    if follow:
        _follow(path, adw_id, page.cursor, page.generation)


@trace_app.command()
def procs(
    ctx: typer.Context,
    adw_id: Annotated[str | None, typer.Argument(metavar="ID", help="Only of this session.")] = None,
    db: Db = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Show the processes that are recorded as running, and what became of each."""
    call = Call.of(ctx, as_json, None)
    with _reader(db) as reader:
        if adw_id is not None:
            reader.session(adw_id)
        rows = [{**found.recorded.row(), "state": found.state} for found in reader.processes(adw_id, only_open=True)]
        if call.as_json:
            show_trace_document("trace-processes", reader.path, session=adw_id, processes=rows)
        else:
            say(*show_rows(rows, PROCESSES, wide=wide, none="nothing runs"))


@trace_app.command()
def kill(
    ctx: typer.Context,
    adw_id: Id,
    grace: Annotated[
        float,
        typer.Option("--grace", metavar="SECONDS", min=0, callback=seconds, help="Seconds to end by itself, a round."),
    ] = 10.0,
    force: Annotated[bool, typer.Option("--force", help="SIGKILL to what has not ended then.")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Stop a run: what its agents started, its agents, then the workflow; only what is still what was recorded."""
    from agent_workflow.tracer import kill_session, locate_data_dir

    call = Call.of(ctx, as_json, None)
    path = _database(db)
    report = kill_session(path, locate_data_dir(path), adw_id, tell, grace_seconds=grace, force=force)
    outcomes = [item._asdict() for item in report.outcomes]
    if call.as_json:
        show_trace_document("trace-kill", path, session=adw_id, status=report.status, processes=outcomes)
    else:
        say(*show_rows(outcomes, OUTCOMES, wide=False, none="nothing runs"), f"session {adw_id}: {report.status}")
    if not report.is_over:
        tell("something of it still runs; --force ends what is yours")
        raise typer.Exit(1)


@trace_app.command()
def rebuild(
    ctx: typer.Context,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session.")] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Fill the database again from the session directories, and say what they do not hold."""
    from agent_workflow.tracer import locate_data_dir
    from agent_workflow.tracer import rebuild as rebuild_trace

    call = Call.of(ctx, as_json, None)
    path = _database(db)
    data_dir = locate_data_dir(path)
    if not path.exists() and not (data_dir / "sessions").exists():
        message = f"{data_dir / 'sessions'}: neither session directories nor a database beside them"
        raise CommandFailed(
            Failure("no_sessions", message, str(data_dir), "name the database of recorded runs with --db")
        )
    report = rebuild_trace(path, data_dir, session=session)
    aside = [str(report.set_aside)] if report.set_aside else []
    if call.as_json:
        fields = {name: getattr(report, name) for name in report.__slots__}
        fields |= {"set_aside": aside[0] if aside else None, "lost_nothing": report.lost_nothing}
        show_trace_document("trace-rebuild", path, **fields)
    else:
        counts = ", ".join(f"{count:,} {name}" for name, count in report.rows.items())
        say(f"{path}: {counts}, from the files of {counted(len(report.sessions), 'session')}")
        for title, items in (
            ("the files do not hold", report.not_recoverable),
            ("damaged", report.damaged),
            ("unfinished, waits for its writer", report.waiting),
            ("only in the database, left as it is", report.only_in_database),
            ("damaged database moved to", aside),
        ):
            say(*(printable(f"{title}: {item}") for item in items))
        if report.lost_nothing:
            say("nothing lost")
    if report.damaged:
        raise typer.Exit(1)


trace_app.command("import")(import_command)


@trace_app.command()
def archive(
    ctx: typer.Context,
    adw_id: Id,
    undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Put a session that was looked at away."""
    from agent_workflow.tracer import locate_data_dir, set_archived

    call = Call.of(ctx, as_json, None)
    path = _database(db)
    set_archived(path, locate_data_dir(path), adw_id, archived=not undo)
    if call.as_json:
        show_trace_document("trace-archive", path, session=adw_id, archived=not undo)
    else:
        say(f"session {adw_id}: {'back in the list' if undo else 'archived'}")


def _database(db: Path | None) -> Path:
    from agent_workflow.tracer import locate_database

    return locate_database(db)


def _reader(db: Path | None) -> Any:  # noqa: ANN401 - the tracer is imported when a command runs
    from agent_workflow.tracer import TraceReader

    return TraceReader(_database(db))


def _follow(path: Path, adw_id: str, cursor: int, generation: str) -> None:
    """Print new events until the session has ended; a rebuilt database is read from its beginning again."""
    from agent_workflow.tracer import TraceReader, TraceReadError

    told = ""
    while True:
        try:
            with TraceReader(path) as reader:
                is_over = reader.session(adw_id)["shown_status"] != "running"
                page = reader.events(adw_id, after=cursor, limit=1000)
                if page.generation != generation:
                    page, generation = reader.events(adw_id, limit=1000), page.generation
                    tell("the database was filled again; from the beginning:")
        except TraceReadError as error:
            if (trouble := f"{error}; waiting for it") != told:
                tell(trouble)
            told = trouble
            time.sleep(1)
            continue
        told = ""
        cursor = page.cursor
        say(*map(event_line, page.events))
        flush_stdout()
        if is_over and not page.has_more:
            return
        if not page.has_more:
            time.sleep(0.25)
