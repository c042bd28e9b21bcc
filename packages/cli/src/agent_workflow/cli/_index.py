"""``agent-workflow index``: the evidence index of the whole host."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol

import typer

from agent_workflow import index_store
from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._export import export_command
from agent_workflow.cli._failure import EXIT_NOT_GOOD, CommandFailed, interrupted
from agent_workflow.cli._filters import Category, Executor, Limit, Model, Pack, Session, Since, State, Until, Wide
from agent_workflow.cli._output import say, show_document, tell
from agent_workflow.cli._progress import RunProgress
from agent_workflow.cli._retention_words import interrupted_prunes

index_app = typer.Typer(
    help="Ask what every agent on this host did, from an index that can be thrown away.", rich_markup_mode=None
)

Run = Annotated[str | None, typer.Option("--run", metavar="ID", help="Only this run.")]
ActiveOnly = Annotated[bool, typer.Option("--active-only", help="Leave archived runs out.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 when a run is in error.")]


@index_app.callback()
def index(context: typer.Context, as_json: AsJson = False, state_root: StateRoot = None) -> None:
    """Ask what every agent on this host did, from an index that can be thrown away."""
    Call.of(context, as_json, state_root)


@index_app.command()
def status(context: typer.Context, as_json: AsJson = False, state_root: StateRoot = None) -> None:
    """Say how fresh the index is, what it holds and what to do next."""
    call = Call.of(context, as_json, state_root)
    report = index_store.status(call.state_root)
    if call.as_json:
        show_document(report.to_document())
    else:
        from agent_workflow.cli._index_words import status_lines

        say(*status_lines(report, call.named_root))


@index_app.command()
def sync(
    context: typer.Context,
    run: Run = None,
    active_only: ActiveOnly = False,
    strict: Strict = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Bring the index in line with the evidence; what did not change costs nothing."""
    scope = _Scope(run, active_only)
    _write(index_store.sync, scope, ("looked at", "synced"), Call.of(context, as_json, state_root), strict=strict)


@index_app.command()
def rebuild(
    context: typer.Context,
    run: Run = None,
    active_only: ActiveOnly = False,
    strict: Strict = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Make the index from nothing; until it is done, readers see the old one."""
    scope = _Scope(run, active_only)
    _write(index_store.rebuild, scope, ("indexed", "rebuilt"), Call.of(context, as_json, state_root), strict=strict)


class _Scope(NamedTuple):
    run: str | None
    active_only: bool


class _Writer(Protocol):
    def __call__(
        self,
        state_root: Path,
        *,
        session_id: str | None,
        active_only: bool,
        progress: Callable[[int, int], None],
        on_wait: Callable[[str], None],
    ) -> "index_store.SyncReport": ...


def _write(writer: _Writer, scope: _Scope, words: tuple[str, str], call: Call, *, strict: bool) -> None:
    """Let one of the two writers write, and report; the words are for a run on the way and for the whole at the end."""
    try:
        with RunProgress(words[0]) as progress:
            report = writer(
                call.state_root,
                session_id=scope.run,
                active_only=scope.active_only,
                progress=progress,
                on_wait=progress.waits_for,
            )
    except KeyboardInterrupt:
        raise CommandFailed(interrupted("what was indexed so far is whole")) from None
    _report(report, words[1], call, strict=strict)


def _report(report: "index_store.SyncReport", verb: str, call: Call, *, strict: bool) -> None:
    if call.as_json:
        show_document(report.to_document())
    else:
        from agent_workflow.cli._index_words import sync_lines

        say(*sync_lines(report, verb, call.named_root))
    if (interrupted := interrupted_prunes(call.state_root, call.named_root)) is not None:
        tell("; ".join(interrupted))
    if strict and report.errors:
        tell(f"{len(report.errors)} in error, and --strict was given")
        raise typer.Exit(EXIT_NOT_GOOD)


@index_app.command()
def verify(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Hash every source and sealed artifact again.")] = False,
    review: Annotated[
        str | None, typer.Option("--review", metavar="ID", help="Judge this run: sealed, completed, passing, reviewed.")
    ] = None,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Check the index, with --full against every source; exits 1 unless valid.

    With --review the exit code speaks of that run: 0 when its review is verified.
    """
    call = Call.of(context, as_json, state_root)
    with RunProgress("hashed") as progress:
        report = index_store.verify(call.state_root, full=full, review=review, progress=progress)
    if call.as_json:
        show_document(report.to_document())
    else:
        from agent_workflow.cli._index_words import verification_lines

        say(*verification_lines(report, call.named_root))
    good = report.valid if report.review is None else report.review.verdict == "verified"
    if not good:
        raise typer.Exit(EXIT_NOT_GOOD)


@index_app.command()
def query(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="runs, incidents, permissions, performance, workflows, workflow-nodes, errors, repairs, events, "
            "health, remediations, attempts, metrics, processes or notices.",
        ),
    ],
    session: Session = None,
    state: State = None,
    category: Category = None,
    executor: Executor = None,
    model: Model = None,
    pack: Pack = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    wide: Wide = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Answer one question, newest first, under a line that says how fresh the answer is."""
    call = Call.of(context, as_json, state_root)
    filters = index_store.Filters(session, state, category, executor, model, pack, since, until)
    report = index_store.query(call.state_root, kind, filters, limit=limit)
    if call.as_json:
        show_document(report.to_document())
    else:
        from agent_workflow.cli._query_words import query_lines

        say(*query_lines(report, filters, limit, call.named_root, wide=wide))


index_app.command("export")(export_command)
