"""``agent-workflow ui``: the web page over traces and the evidence index."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from agent_workflow import index_store
from agent_workflow.cli._call import Call, StateRoot
from agent_workflow.cli._extras import needs_extra
from agent_workflow.cli._failure import EXIT_WRONG_CALL, CommandFailed, Failure
from agent_workflow.cli._output import tell


def ui_command(
    context: typer.Context,
    db: Annotated[
        list[Path] | None,
        typer.Option(
            "--db",
            metavar="FILE",
            help="Trace database; may be repeated. The repository's and all that runs name by default.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="To listen on; 0 for any free one.")
    ] = 4600,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="To bind; anything but loopback needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TOKEN", help="That every request must show, 16 characters at least."),
    ] = None,
    state_root: StateRoot = None,
) -> None:
    """Serve the web page on this machine until interrupted; it reads, and writes nothing but the archive flag."""
    with needs_extra("ui", "the page"):
        from agent_workflow.visualizer import CannotServe, ServeOptions, serve
    call = Call.of(context, False, state_root)
    databases = tuple(db) if db else _found(call.state_root)
    options = ServeOptions(databases, port, host, token, call.state_root, open_browser)
    try:
        serve(options, tell)
    except CannotServe as error:
        raise CommandFailed(Failure("cannot_serve", str(error), exit_code=EXIT_WRONG_CALL)) from error
    except KeyboardInterrupt:
        tell("stopped")


def _found(state_root: Path) -> tuple[Path, ...]:
    """Find the repository's trace, and those of all runs of the index.

    In a repository without one, and where there is no other, the page waits for it where a first run would make it.
    """
    from agent_workflow.tracer import NoTrace, locate_database

    recorded = _named_by_evidence(state_root)
    try:
        return _distinct((locate_database(), *recorded))
    except NoTrace as error:
        if recorded and not (Path.cwd() / ".git").exists():
            return _distinct(recorded)
        shown = "the traces of other repositories" if recorded else "the index alone"
        tell(f"{error}; the page shows {shown}, and {_USUAL} when it is there")
        return _distinct((Path.cwd() / _USUAL, *recorded))


_USUAL = "adws/adw_data/sssf.db"
_MOST_RECORDED = 64
"""Databases of other repositories that are served, those of the newest runs; each costs the page a few connections."""


def _named_by_evidence(state_root: Path) -> tuple[Path, ...]:
    """Return the trace databases that runs of the index name and that are there; an index is not needed."""
    try:
        with index_store.open_index(state_root) as index:
            named = index.trace_databases(index_store.MAXIMUM_LIMIT)
    except index_store.MissingDatabase:
        return ()
    except index_store.IndexStoreError as error:
        tell(f"the index cannot be asked for traces: {error}" + (f"; {error.hint}" if error.hint else ""))
        return ()
    # Of `os.path`, because a path that may not be looked at, or is none, is simply not there.
    found = _distinct(Path(name) for name in named if os.path.isfile(name))  # noqa: PTH113
    if len(found) > _MOST_RECORDED:
        tell(f"{len(found)} repositories have traces; the page shows the newest {_MOST_RECORDED}, others with --db")
    return found[:_MOST_RECORDED]


def _distinct(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Leave out a path that leads to the same file as one before."""
    found: dict[str, Path] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return tuple(found.values())
