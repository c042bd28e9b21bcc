"""``agent-workflow archive``: put ended, sealed runs away."""

from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._failure import EXIT_NOT_GOOD
from agent_workflow.cli._output import say, show_document
from agent_workflow.cli._progress import RunProgress

if TYPE_CHECKING:
    from agent_workflow.index_store.retention import ArchiveReport

DEFAULT_AGE = "30d"


def archive_command(
    context: typer.Context,
    session_ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Only these runs, whatever their age.")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help="Only runs sealed at least so long ago; 30d where no ID is given."
        ),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="For the manifest.")] = "retention",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be moved, and move nothing.")] = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Move runs that have ended, are sealed and verify from runs/ to archive/, each with its manifest."""
    from agent_workflow.index_store.retention import archive_runs, parse_age

    call = Call.of(context, as_json, state_root)
    age = older_than if older_than is not None or session_ids else DEFAULT_AGE
    with RunProgress("looked at") as progress:
        report = archive_runs(
            call.state_root,
            session_ids=tuple(session_ids or ()),
            older_than_seconds=None if age is None else parse_age(age, "older-than"),
            reason=reason or "retention",
            dry_run=dry_run,
            progress=progress,
        )
    if call.as_json:
        show_document(_document(report))
    else:
        from agent_workflow.cli._retention_words import archive_lines

        say(*archive_lines(report, call.named_root))
    failed = [run for run in report.kept if session_ids or run.reason == "failed"]
    if failed:
        raise typer.Exit(EXIT_NOT_GOOD)


def _document(report: "ArchiveReport") -> dict[str, object]:
    from dataclasses import asdict

    return {
        "schema": "agent-workflow/archive-report/v1",
        "state_root": report.state_root,
        "dry_run": report.dry_run,
        "moved": [asdict(run) for run in report.moved],
        "kept": [asdict(run) for run in report.kept],
    }
