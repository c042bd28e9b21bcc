"""``agent-workflow prune``: delete old runs and trace sessions, by a plan that is shown first."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._cells import counted
from agent_workflow.cli._failure import (
    EXIT_INTERRUPTED,
    EXIT_NOT_GOOD,
    CommandFailed,
    Failure,
    usage_error,
    with_state_root,
)
from agent_workflow.cli._output import say, show_document, tell
from agent_workflow.cli._progress import RunProgress

if TYPE_CHECKING:
    from agent_workflow.cli._prune_plan import PrunePlan
    from agent_workflow.index_store.retention import PruneCriteria, PruneOutcome


def prune_command(
    context: typer.Context,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="What ended at least so long ago, such as 90d.")
    ] = None,
    keep_bytes: Annotated[
        str | None,
        typer.Option("--keep-bytes", metavar="SIZE", help="The oldest, until what is left fits, such as 20G."),
    ] = None,
    require_review: Annotated[bool, typer.Option("--require-review", help="Never what nobody has reviewed.")] = False,
    traces: Annotated[
        bool, typer.Option("--traces", help="Sessions of trace databases too: rows and directories.")
    ] = False,
    db: Annotated[
        list[Path] | None,
        typer.Option(
            "--db", metavar="FILE", help="Trace database for --traces; may be repeated. The repository's by default."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan; so it is by default.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete what the plan lists now.")] = False,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="DIGEST", help="Delete what this plan lists, if it is still the same."),
    ] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Only finish prunes that were interrupted, and delete nothing else.")
    ] = False,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Show what would be deleted, and with --yes or --plan delete it and keep a receipt."""
    call = Call.of(context, as_json, state_root)
    if finish:
        if older_than or keep_bytes or require_review or traces or db or dry_run or yes or plan is not None:
            raise usage_error("--finish goes on with what was planned then", "give it alone")
        _finish(call)
        return
    from agent_workflow.index_store.retention import PruneCriteria, parse_age, parse_size

    criteria = PruneCriteria(
        older_than_seconds=None if older_than is None else parse_age(older_than, "older-than"),
        keep_bytes=None if keep_bytes is None else parse_size(keep_bytes, "keep-bytes"),
        require_review=require_review,
    )
    if dry_run and (yes or plan is not None):
        raise usage_error("--dry-run shows the plan, --yes and --plan carry it out", "leave one of them out")
    if db and not traces:
        raise usage_error("--db names a trace, and --traces was not given", "add --traces")
    databases = _databases(db) if traces else ()
    if yes or plan is not None:
        _delete(call, criteria, databases, plan)
    else:
        _show(call, criteria, databases)


def _databases(named: list[Path] | None) -> tuple[tuple[Path, Path], ...]:
    from agent_workflow.tracer import locate_data_dir, locate_database

    found = [path.absolute() for path in named or [locate_database()]]
    return tuple((path, locate_data_dir(path)) for path in dict.fromkeys(found))


def _show(call: Call, criteria: "PruneCriteria", databases: tuple[tuple[Path, Path], ...]) -> None:
    from agent_workflow.cli._retention_words import plan_lines
    from agent_workflow.index_store.retention import unfinished_receipts

    waiting = unfinished_receipts(call.state_root)
    plan = _plan(call, criteria, databases)
    if call.as_json:
        show_document(plan.to_document() | {"unfinished_receipts": list(waiting)})
    else:
        say(*plan_lines(plan, waiting))


def _plan(call: Call, criteria: "PruneCriteria", databases: tuple[tuple[Path, Path], ...]) -> "PrunePlan":
    from agent_workflow.cli._prune_plan import make_plan

    with RunProgress("looked at") as progress:
        return make_plan(call.state_root, criteria, databases, progress)


def _delete(
    call: Call, criteria: "PruneCriteria", databases: tuple[tuple[Path, Path], ...], wanted: str | None
) -> None:
    from agent_workflow.cli._prune_plan import carry_out, check_digest, recover_trace
    from agent_workflow.index_store.retention import prune_session

    try:
        with prune_session(call.state_root, recover_trace=recover_trace) as session:
            plan = _plan(call, criteria, databases)
            if wanted is not None:
                check_digest(plan, wanted)
            outcomes = carry_out(session, plan) if plan.totals["subjects"] else []
            receipt = session.receipt.path if outcomes else None
    except KeyboardInterrupt:
        raise _interrupted(call) from None
    _report(call, plan, (*session.recovered, *outcomes), receipt)


def _finish(call: Call) -> None:
    from agent_workflow.cli._prune_plan import recover_trace
    from agent_workflow.index_store.retention import finish_interrupted, unfinished_receipts

    try:
        outcomes = finish_interrupted(call.state_root, recover_trace=recover_trace)
    except KeyboardInterrupt:
        raise _interrupted(call) from None
    _report(call, None, outcomes, None)
    if waiting := unfinished_receipts(call.state_root):
        tell(f"{counted(len(waiting), 'interrupted prune')} cannot be finished yet; the receipts say why")
        raise typer.Exit(EXIT_NOT_GOOD)


def _interrupted(call: Call) -> CommandFailed:
    message = "interrupted; what was announced is in the receipt"
    hint = with_state_root("agent-workflow prune --finish", call.named_root)
    return CommandFailed(Failure("interrupted", message, hint=hint, exit_code=EXIT_INTERRUPTED))


def _report(call: Call, plan: "PrunePlan | None", outcomes: tuple["PruneOutcome", ...], receipt: str | None) -> None:
    if call.as_json:
        show_document(
            {
                "schema": "agent-workflow/prune-report/v1",
                "state_root": str(call.state_root) if plan is None else plan.runs.state_root,
                "plan_sha256": None if plan is None else plan.digest,
                "receipt": receipt,
                "outcomes": [outcome.to_record() for outcome in outcomes],
            }
        )
    else:
        from agent_workflow.cli._retention_words import outcome_lines

        say(*outcome_lines(outcomes, receipt, call.named_root))
    if any(outcome.outcome == "left" for outcome in outcomes):
        raise typer.Exit(EXIT_NOT_GOOD)
