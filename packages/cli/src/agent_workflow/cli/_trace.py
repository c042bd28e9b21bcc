"""``agent-workflow trace``: look at recorded runs, stop them, fill their database again."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_workflow.cli._trace_import import import_command
from agent_workflow.cli._trace_tables import dollars, duration, table
from agent_workflow.cli._trace_telling import Teller, telling

trace_app = typer.Typer(help="Look at recorded runs, stop them, fill their database again.", no_args_is_help=True)

Db = Annotated[Path | None, typer.Option("--db", help="Trace database; found from here when omitted.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show all of every value.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The session.")]


@trace_app.callback()
def trace(as_json: AsJson = False) -> None:
    """Look at recorded runs, stop them, fill their database again."""


@trace_app.command()
def sessions(
    ctx: typer.Context,
    db: Db = None,
    show_all: Annotated[bool, typer.Option("--all", help="Also archived ones.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 20,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List sessions, newest first, with the status that is true now."""
    with telling(ctx, as_json) as tell, _reader(db) as reader:
        rows = reader.sessions(limit=limit, include_archived=show_all)
        if tell.as_json:
            tell.document("trace-sessions", reader.path, sessions=rows)
            return
        shown = [
            {
                "id": row["adw_id"],
                "status": row["shown_status"],
                "workflow": row["adw_name"],
                "request": row["request"],
                "phases": row["phase_count"],
                "tokens": row["total_tokens"],
                "cost": dollars(row["total_cost"], row.get("estimated_cost")),
                "age": _age(row["started_at"]),
            }
            for row in rows
        ]
        columns = ("id", "status", "workflow", "request", "phases", "tokens", "cost", "age")
        tell.lines(table(shown, columns, wide=wide, flexible="request"))


@trace_app.command()
def phases(ctx: typer.Context, adw_id: Id, db: Db = None, wide: Wide = False, as_json: AsJson = False) -> None:
    """Show the phases of a session in order."""
    with telling(ctx, as_json) as tell, _reader(db) as reader:
        reader.session(adw_id)
        rows = reader.phases(adw_id)
        if tell.as_json:
            tell.document("trace-phases", reader.path, session=adw_id, phases=rows)
            return
        for row in rows:
            row["retry"] = None if row["attempt"] is None else f"{row['attempt']}/{_or_dash(row['retries'])}"
            row["took"] = duration(_span(row["started_at"], row["ended_at"]))
        columns = ("seq", "name", "kind", "owner", "status", "retry", "took", "error")
        tell.lines(table(rows, columns, wide=wide, flexible="error"))


@trace_app.command()
def events(
    ctx: typer.Context,
    adw_id: Id,
    types: Annotated[list[str] | None, typer.Option("--type", help="Only this type; may be repeated.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Only those behind this rowid.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 500,
    db: Db = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Show events of a session, oldest first."""
    with telling(ctx, as_json) as tell, _reader(db) as reader:
        reader.session(adw_id)
        page = reader.events(adw_id, after=after, limit=limit, types=tuple(types or ()))
        if tell.as_json:
            tell.document(
                "trace-events", reader.path, session=adw_id, generation=page.generation, cursor=page.cursor,
                has_more=page.has_more, events=page.events,
            )  # fmt: skip
            return
        tell.lines(table([_event(row) for row in page.events], _EVENT_COLUMNS, wide=wide, flexible="name"))
        if page.has_more:
            tell.note(f"there are more: --after {page.cursor}")


@trace_app.command()
def tail(
    ctx: typer.Context,
    adw_id: Id,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the session ends.")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest events of a session, and with -f those that come."""
    with telling(ctx, as_json) as tell:
        if follow and tell.as_json:
            tell.note("--follow prints lines as they come, it cannot be one JSON document; leave one of them out")
            raise typer.Exit(2)
        path = _database(db)
        with _reader(path) as reader:
            page = reader.events(adw_id, limit=25, newest=True)
            reader.session(adw_id)
            if tell.as_json:
                tell.document("trace-tail", path, session=adw_id, cursor=page.cursor, events=page.events)
                return
        tell.lines("\n".join(_line(row) for row in page.events))
        if follow:
            _follow(tell, path, adw_id, page.cursor, page.generation)


@trace_app.command()
def procs(
    ctx: typer.Context,
    adw_id: Annotated[str | None, typer.Argument(metavar="ID", help="Only of this session.")] = None,
    db: Db = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Show the processes that are recorded as running, and what became of each."""
    with telling(ctx, as_json) as tell, _reader(db) as reader:
        if adw_id is not None:
            reader.session(adw_id)
        rows = [{**found.recorded.row(), "state": found.state} for found in reader.processes(adw_id, only_open=True)]
        if tell.as_json:
            tell.document("trace-processes", reader.path, session=adw_id, processes=rows)
            return
        for row in rows:
            row["session"], row["age"], row["pid"] = row["adw_id"], _age(row["started_at"]), str(row["pid"])
        columns = ("session", "kind", "name", "pid", "state", "age", "command")
        tell.lines(table(rows, columns, wide=wide, flexible="command"))


@trace_app.command()
def kill(
    ctx: typer.Context,
    adw_id: Id,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to end by itself, a round.")] = 10.0,
    force: Annotated[bool, typer.Option("--force", help="SIGKILL to what has not ended then.")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Stop a run: what its agents started, its agents, then the workflow; only what is still what was recorded."""
    from agent_workflow.tracer import kill_session, locate_data_dir

    with telling(ctx, as_json) as tell:
        path = _database(db)
        report = kill_session(path, locate_data_dir(path), adw_id, tell.note, grace_seconds=grace, force=force)
        outcomes = [item._asdict() for item in report.outcomes]
        if tell.as_json:
            tell.document("trace-kill", path, session=adw_id, status=report.status, processes=outcomes)
        else:
            shown = [{**item, "pid": str(item["pid"])} for item in outcomes]
            tell.lines(
                table(shown, ("pid", "outcome", "command"), wide=False, flexible="command") if shown else "nothing runs"
            )
            tell.lines(f"session {adw_id}: {report.status}")
        if not report.is_over:
            tell.note("something of it still runs; --force ends what is yours")
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

    with telling(ctx, as_json) as tell:
        path = _database(db)
        report = rebuild_trace(path, locate_data_dir(path), session=session)
        if tell.as_json:
            fields = {name: getattr(report, name) for name in report.__slots__ if name != "set_aside"}
            aside = str(report.set_aside) if report.set_aside else None
            tell.document("trace-rebuild", path, **fields, set_aside=aside, lost_nothing=report.lost_nothing)
        else:
            counts = ", ".join(f"{count:,} {name}" for name, count in report.rows.items())
            tell.lines(f"{path}: {counts}, from the files of {len(report.sessions)} sessions")
            for title, items in (
                ("the files do not hold", report.not_recoverable),
                ("damaged", report.damaged),
                ("unfinished, waits for its writer", report.waiting),
                ("only in the database, left as it is", report.only_in_database),
                ("damaged database moved to", [str(report.set_aside)] if report.set_aside else []),
            ):
                tell.lines("\n".join(f"{title}: {item}" for item in items))
            if report.lost_nothing:
                tell.lines("nothing lost")
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

    with telling(ctx, as_json) as tell:
        path = _database(db)
        set_archived(path, locate_data_dir(path), adw_id, archived=not undo)
        if tell.as_json:
            tell.document("trace-archive", path, session=adw_id, archived=not undo)
        else:
            tell.lines(f"session {adw_id}: {'back in the list' if undo else 'archived'}")


def _database(db: Path | None) -> Path:
    from agent_workflow.tracer import locate_database

    return locate_database(db)


def _reader(db: Path | None) -> Any:  # noqa: ANN401 - the tracer is imported when a command runs
    from agent_workflow.tracer import TraceReader

    return TraceReader(_database(db))


def _follow(tell: Teller, path: Path, adw_id: str, cursor: int, generation: str) -> None:
    """Print new events until the session has ended; a rebuilt database is read from its beginning again."""
    from agent_workflow.tracer import TraceReader, TraceReadError

    while True:
        try:
            with TraceReader(path) as reader:
                is_over = reader.session(adw_id)["shown_status"] != "running"
                page = reader.events(adw_id, after=cursor, limit=1000)
                if page.generation != generation:
                    page, generation = reader.events(adw_id, limit=1000), page.generation
                    tell.note("the database was filled again; from the beginning:")
        except TraceReadError as error:
            tell.note(f"{error}; waiting for it")
            time.sleep(1)
            continue
        cursor = page.cursor
        tell.lines("\n".join(_line(row) for row in page.events))
        if is_over and not page.has_more:
            return
        if not page.has_more:
            time.sleep(0.25)


_EVENT_COLUMNS = ("rowid", "time", "type", "name", "tokens", "took")


def _event(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "rowid": str(row["rowid"]),
        "time": str(row["started_at"] or "")[11:23],
        "took": duration(_span(row["started_at"], row["ended_at"])) if row["ended_at"] else None,
    }


def _line(row: dict[str, Any]) -> str:
    shown = _event(row)
    name = "".join(c if c.isprintable() else " " for c in str(row["name"] or ""))
    return f"{shown['rowid']:>6}  {shown['time']}  {row['type'] or '':<11}  {name}"


def _span(start: str | None, end: str | None) -> float | None:
    from agent_workflow.tracer import parse_time

    began, ended = parse_time(start), parse_time(end)
    return None if began is None or ended is None else max(0.0, (ended - began).total_seconds())


def _age(moment: str | None) -> str:
    from agent_workflow.tracer import age_seconds

    return duration(age_seconds(moment))


def _or_dash(value: object) -> object:
    return "—" if value is None else value
