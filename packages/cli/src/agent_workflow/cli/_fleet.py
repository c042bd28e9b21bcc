"""``agent-workflow fleet``: the questions of the index, put to the dataset of many hosts."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow import index_store
from agent_workflow.cli._call import AsJson, Call
from agent_workflow.cli._cells import ID, counted, minute
from agent_workflow.cli._extras import require_extra
from agent_workflow.cli._failure import EXIT_NOT_GOOD
from agent_workflow.cli._filters import Category, Executor, Limit, Model, Pack, Session, Since, State, Until, Wide
from agent_workflow.cli._output import Palette, say, show_document, terminal_width, wrapped
from agent_workflow.cli._progress import RunProgress
from agent_workflow.cli._table import Column, state_colour, table, wide_table
from agent_workflow.cli._terminal_text import ellipsis, printable, shorten

if TYPE_CHECKING:
    from agent_workflow.index_store.fleet import FleetReport, FleetVerification

fleet_app = typer.Typer(
    help="Ask what the agents of many hosts did, from what each has exported.", rich_markup_mode=None
)

Dataset = Annotated[
    str, typer.Option("--dataset", metavar="PLACE", help="Directory of the dataset, or a URL that fsspec knows.")
]


@fleet_app.callback()
def fleet(context: typer.Context, as_json: AsJson = False) -> None:
    """Ask what the agents of many hosts did, from what each has exported."""
    Call.of(context, as_json, None)


@fleet_app.command()
def query(
    context: typer.Context,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="As of index query: runs, incidents, permissions, performance, …")
    ],
    dataset: Dataset,
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
) -> None:
    """Answer one question over every host, newest first, under a line for each host's freshness."""
    require_extra("fleet", ("duckdb", "fsspec"), "the fleet's engine")
    from agent_workflow.index_store.fleet import query_fleet

    call = Call.of(context, as_json, None)
    filters = index_store.Filters(session, state, category, executor, model, pack, since, until)
    report = query_fleet(dataset, kind, filters, limit=limit)
    if call.as_json:
        show_document(report.to_document())
    else:
        say(*_lines(report, limit, wide=wide))


@fleet_app.command()
def verify(
    context: typer.Context,
    dataset: Dataset,
    full: Annotated[bool, typer.Option("--full", help="Read every file and compare its SHA-256.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the files of every host with its manifest, with --full byte by byte; exits 1 unless valid."""
    require_extra("fleet", ("fsspec",), "the access to a fleet's files")
    from agent_workflow.index_store.fleet import verify_fleet

    call = Call.of(context, as_json, None)
    with RunProgress("verified", "hosts") as progress:
        report = verify_fleet(dataset, full=full, progress=progress)
    if call.as_json:
        show_document(report.to_document())
    else:
        say(*_verification_lines(report))
    if not report.valid:
        raise typer.Exit(EXIT_NOT_GOOD)


def _verification_lines(report: "FleetVerification") -> list[str]:
    from agent_workflow.cli._facts import fact_lines, fault_lines, stated, text_width

    verify_all = f"agent-workflow fleet verify --full --dataset {shlex.quote(report.dataset)}"
    files = counted(sum(count or 0 for count in report.hosts.values()), "file")
    looked = "hashed" if report.full else f"of the right size; not hashed, that is done by: {verify_all}"
    lines = fact_lines(
        [
            ("dataset", stated("valid" if report.valid else "invalid")),
            ("place", printable(report.dataset)),
            ("hosts", printable(", ".join(report.hosts))),
            ("files", f"{len(report.faults)} at fault of {files}" if report.faults else f"all {files} {looked}"),
        ]
    )
    if report.faults:
        found = [(fault.path, f"{fault.verdict}: {fault.detail}") for fault in report.faults]
        title = f"{counted(len(found), 'file')} at fault"
        lines += fault_lines(title, "red", found, f"{verify_all} --json")
        hosts = ", ".join(sorted({fault.host for fault in report.faults}))
        step = f"remove what is damaged, then export again, with the options as they were, on: {hosts}"
        lines += ["", *wrapped(printable(step), text_width())]
    return lines


def _lines(report: "FleetReport", limit: int, *, wide: bool) -> list[str]:
    from agent_workflow.cli._query_columns import COLUMNS

    palette, width = Palette(), terminal_width()
    lines = [*_standings(report, palette, width)]
    if len(report.rows) == limit:
        lines.append(f"first {counted(limit, 'row')}")
    if not report.rows:
        lines.append(f"no {report.kind} like that on any host")
    elif wide:
        lines.extend(wide_table(report.rows, report.columns, palette))
    else:
        columns = (Column("host", "host", ID, 1), *COLUMNS[report.kind])
        lines.extend(table(report.rows, columns, width, palette, ellipsis()))
    return lines


def _standings(report: "FleetReport", palette: Palette, width: int) -> list[str]:
    """Say how each host stands; a column is left out by the policies of those hosts that do not export it."""
    lines = []
    for host in report.hosts:
        counts = ((host.current_runs, "current"), (host.stale_runs, "stale"), (host.error_runs, "in error"))
        told = ", ".join(f"{count} {word}" for count, word in counts if count or word == "current")
        exported = f"; exported {minute(host.exported_at)}" if host.exported_at else ""
        rest = shorten(f": {told}{exported}; {printable(host.host)}", width - len(host.freshness), ellipsis())
        lines.append(palette.paint(host.freshness, state_colour(host.freshness)) + rest)
    left_out = sorted({name for host in report.hosts for name in host.left_out})
    if left_out:
        lines.append(shorten(f"left out by policy: {', '.join(left_out)}", width, ellipsis()))
    return lines
