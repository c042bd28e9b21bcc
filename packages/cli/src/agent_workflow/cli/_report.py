"""``agent-workflow report``: one self-contained file for people, from the index."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._failure import usage_error
from agent_workflow.cli._output import say, show_document, tell

if TYPE_CHECKING:
    from agent_workflow.cli.report.facts import ReportFacts

_MARKDOWN = (".md", ".markdown")


def report_command(
    context: typer.Context,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="The period: from a date, a time, or an age such as 24h.")
    ] = "7d",
    html: Annotated[bool, typer.Option("--html", help="One HTML file with charts; the default.")] = False,
    md: Annotated[bool, typer.Option("--md", help="Markdown; the default where FILE ends in .md.")] = False,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write it there, for its owner alone, not to stdout.")
    ] = None,
    as_json: AsJson = False,
    state_root: StateRoot = None,
) -> None:
    """Report for people: runs, failures with causes, spend, incidents and open permissions, with small charts."""
    from agent_workflow.cli.report.gathering import gather

    call = Call.of(context, as_json, state_root)
    if html and md:
        raise usage_error("--html and --md are two forms of one report", "leave one of them out")
    if call.as_json and to is None and (html or md):
        raise usage_error(
            "--json, --html and --md all go to standard output", "leave some out, or name a file with --to"
        )
    facts = gather(call.state_root, since)
    if to is not None:
        is_markdown = md or (not html and to.suffix.lower() in _MARKDOWN)
        write_report(to, _form(facts, is_markdown=is_markdown))
        if not call.as_json:
            tell(f"wrote {to}")
    if call.as_json:
        show_document(_document(facts))
    elif to is None:
        say(_form(facts, is_markdown=md).rstrip("\n"))


def _form(facts: "ReportFacts", *, is_markdown: bool) -> str:
    if is_markdown:
        from agent_workflow.cli.report.markdown import markdown_report

        return markdown_report(facts)
    from agent_workflow.cli.report.html import html_report

    return html_report(facts)


def write_report(path: Path, content: str) -> None:
    """Put a report in its place whole; a reader sees the old one or the new one.

    A link to a file is replaced, not followed. A pipe or a device is written to, and so is what lies in ``/dev``, where
    names such as ``stdout`` are the system's.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    if path.is_dir():
        raise usage_error(f"{path} is a directory", "name a file in it")
    if path.exists() and (not path.is_file() or path.absolute().is_relative_to("/dev")):
        path.write_bytes(content.encode("utf-8", "replace"))
        return
    beside = path.with_name(f".report.{os.getpid()}.new")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # the name that was asked for
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8", "replace"))
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()


def _document(facts: "ReportFacts") -> dict[str, object]:
    from dataclasses import asdict

    return {"schema": "agent-workflow/report/v1", **asdict(facts)}
