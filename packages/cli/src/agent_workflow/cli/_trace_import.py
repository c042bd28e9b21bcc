"""``agent-workflow trace import``: the sessions that coding agents have left on disk, as sessions of a trace."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._cells import counted
from agent_workflow.cli._extras import install_command
from agent_workflow.cli._failure import CommandFailed, Failure, usage_error
from agent_workflow.cli._output import say, show_trace_document, tell
from agent_workflow.cli._terminal_text import printable

if TYPE_CHECKING:
    from agent_workflow.tracer.importing import ImportProgress, ImportReport

_MEGABYTE = 1_000_000


def import_command(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH...", help="Session files, and folders that are searched.")
    ] = None,
    discover: Annotated[
        bool, typer.Option("--discover", help="Look where the agents keep their sessions, too.")
    ] = False,
    db: Annotated[
        Path | None, typer.Option("--db", metavar="FILE", help="Trace database; found from here when omitted.")
    ] = None,
    no_publish: Annotated[bool, typer.Option("--no-publish", help="Make no evidence of the sessions.")] = False,
    publish_now: Annotated[
        bool, typer.Option("--publish-now", help="Make evidence also of sessions that changed within ten minutes.")
    ] = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Import sessions that Claude Code, Codex, gemini-cli, opencode and pi have kept; only what is new is read.

    Sessions that are over are sealed as evidence in the state root.
    """
    from agent_workflow.cli._progress import RunProgress
    from agent_workflow.tracer import locate_data_dir, locate_database
    from agent_workflow.tracer.importing import QUIET_SECONDS, import_sessions, publishing_root
    from agent_workflow.tracer.importing import discover as agents_folders

    call = Call.of(ctx, as_json, state_root)
    if no_publish and publish_now:
        raise usage_error("--no-publish and --publish-now exclude each other", "leave one of them out")
    places = [*(paths or []), *(agents_folders() if discover else [])]
    if not places and discover:
        raise CommandFailed(Failure("no_sessions", "none of the agents has kept sessions here"))
    if not places:
        raise usage_error("nothing to import was named", "name files or folders, or --discover them")
    missing = [path for path in places if not path.exists()]
    if missing:
        raise CommandFailed(Failure("no_such_file", f"{missing[0]}: no such file or folder", str(missing[0])))
    path = locate_database(db)
    allowed = None if no_publish else publishing_root(path)
    publish_to = allowed if allowed is None or call.named_root is None else call.state_root
    with RunProgress("imported") as line:
        report = import_sessions(
            places,
            path,
            locate_data_dir(path),
            progress=lambda progress: line.show(_so_far(progress)),
            publish_to=publish_to,
            quiet_seconds=0.0 if publish_now else QUIET_SECONDS,
        )
    _report(call, path, report)
    if report.damaged or report.unreadable or report.unpublished:
        raise typer.Exit(1)


def _so_far(progress: "ImportProgress") -> str:
    if progress.to_publish:
        return f"published {progress.published} of {progress.to_publish} sessions"
    if progress.sessions_changed:
        return f"wrote {progress.sessions_written} of {progress.sessions_changed} sessions"
    read, new = progress.bytes_read / _MEGABYTE, progress.bytes_new / _MEGABYTE
    return f"read {read:.0f} of {new:.0f} MB"


def _report(call: Call, database: Path, report: "ImportReport") -> None:
    if call.as_json:
        fields = {name: getattr(report, name) for name in report.__slots__}
        show_trace_document("trace-import", database, **fields)
        return
    agents = ", ".join(f"{count:,} of {agent}" for agent, count in sorted(report.agents.items()))
    say(
        f"{database}: {counted(len(report.written), 'session')} written; {counted(report.files, 'file')} looked at,"
        f" {report.unchanged:,} unchanged, {report.bytes_read / _MEGABYTE:.1f} MB read"
        + (f" ({agents})" if agents else "")
    )
    if report.published:
        say(f"evidence: {counted(len(report.published), 'run')} published")
    if report.recorded:
        tell(f"{counted(len(report.recorded), 'session')}: recorded while going on, and evidence already")
    if report.fresh:
        tell(f"{counted(len(report.fresh), 'session')} may be at work yet: a later import publishes, or --publish-now")
    if not report.catalogue:
        tell(f"no cost is estimated; run: {install_command('prices')}")
    for title, items in (
        ("damaged, everything else was imported", report.damaged),
        ("unfinished, waits for its writer", report.waiting),
        ("cannot be read", report.unreadable),
        ("not published, the next import tries again", report.unpublished),
    ):
        say(*(printable(f"{title}: {item}") for item in items))
