"""``agent-workflow ui``: the web page over traces and the evidence index."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from agent_workflow.cli._call import Call, StateRoot


def ui_command(
    context: typer.Context,
    db: Annotated[
        list[Path] | None, typer.Option("--db", help="Trace database; may be repeated. The repository's by default.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="To listen on; 0 for any free one.")] = 4600,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    host: Annotated[str, typer.Option(help="To bind; anything but loopback needs --token.")] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="That every request must show, 16 characters at least.")] = None,
    state_root: StateRoot = None,
) -> None:
    """Serve the web page on this machine until interrupted; it reads, and writes nothing but the archive flag."""
    try:
        from agent_workflow.visualizer import CannotServe, ServeOptions, serve
    except ModuleNotFoundError as error:
        _fail(f"the page is not installed ({error.name} is missing); pip install 'agent-workflow-cli[ui]'")
    databases = tuple(db) if db else _found_here()
    call = Call.of(context, False, state_root)
    options = ServeOptions(databases, port, host, token, call.state_root, open_browser)
    try:
        serve(options, _note)
    except CannotServe as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _note("stopped")


def _found_here() -> tuple[Path, ...]:
    """Find the repository's trace; without one, the page waits for it where a first run would make it."""
    from agent_workflow.tracer import NoTrace, TracerError, locate_database

    try:
        return (locate_database(),)
    except NoTrace as error:
        _note(f"{error}; the page shows the index alone, and {_USUAL} when it is there")
        return (Path.cwd() / _USUAL,)
    except TracerError as error:
        where = f"{error.path}: " if error.path else ""
        _fail(f"{where}{error}" + (f"; {error.hint}" if error.hint else ""))


_USUAL = "adws/adw_data/sssf.db"


def _note(text: str) -> None:
    sys.stderr.write(f"agent-workflow: {text}\n")
    sys.stderr.flush()


def _fail(text: str) -> NoReturn:
    _note(text)
    raise typer.Exit(2)
