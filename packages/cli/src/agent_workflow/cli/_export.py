"""``agent-workflow index export``: this host's part of a dataset that other engines read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._cells import counted
from agent_workflow.cli._extras import require_extra
from agent_workflow.cli._output import Palette, say, show_document
from agent_workflow.cli._table import state_colour

if TYPE_CHECKING:
    from agent_workflow.index_store.export import ExportReport


def export_command(
    context: typer.Context,
    to: Annotated[
        str, typer.Option("--to", metavar="PLACE", help="Directory of the dataset, or a URL that fsspec knows.")
    ],
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Which fields leave; without it no paths and texts.")
    ] = None,
    retain_days: Annotated[
        int | None, typer.Option("--retain-days", metavar="N", help="Remove partitions of days further back than N.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="Name of this host in the dataset, not its own id.")
    ] = None,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Write the index as Parquet files for a whole fleet; what did not change is not written again."""
    require_extra("export", ("pyarrow", "fsspec"), "the export")
    from agent_workflow.index_store.export import DEFAULT_POLICY, export, load_policy

    call = Call.of(context, as_json, state_root)
    chosen = DEFAULT_POLICY if policy is None else load_policy(policy)
    report = export(call.state_root, to, policy=chosen, host=host, retain_days=retain_days)
    if call.as_json:
        show_document(report.to_document())
    else:
        say(*_lines(report))


def _lines(report: "ExportReport") -> list[str]:
    """Say what was written, how fresh it is, and what stayed at home."""
    word = Palette().paint(report.freshness.word, state_colour(report.freshness.word))
    rows = sum(table.rows for table in report.tables)
    lines = [
        f"exported: {counted(rows, 'row')} of host {report.host} to {report.dataset}",
        f"index        {word}",
        f"files        {report.written} written, {report.unchanged} unchanged, {report.removed} removed",
    ]
    if report.kept_since is not None:
        lines.append(
            f"kept since   {report.kept_since.isoformat()}; {counted(report.retired, 'partition')} removed by that now"
        )
    left_out = sorted({name for table in report.tables for name in table.left_out})
    lines.append(f"left out     {', '.join(left_out)}")
    lost = [f"{table.name}.{name}: {count}" for table in report.tables for name, count in table.unrepresentable.items()]
    if lost:
        lines.append(f"unknown      values that are no time or number became unknown: {', '.join(lost)}")
    return lines
