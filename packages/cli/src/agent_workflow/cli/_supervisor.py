"""``agent-workflow supervisor``: look at every live run of this host, and help where allowed."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot, seconds
from agent_workflow.cli._failure import EXIT_NOT_GOOD, EXIT_REFUSED, CommandFailed, Failure, usage_error
from agent_workflow.cli._output import flush_stdout, say, show_document, tell

if TYPE_CHECKING:
    from agent_workflow.cli.supervisor.cycle import Supervisor
    from agent_workflow.cli.supervisor.report import Report
    from agent_workflow.cli.supervisor.settings import Settings

supervisor_app = typer.Typer(
    help="Look at every live run of this host, name what is wrong, and help where allowed.", rich_markup_mode=None
)

_MIB = 1024 * 1024

Session = Annotated[list[str] | None, typer.Option("--session", metavar="ID", help="Only this run; may be repeated.")]
Interrupt = Annotated[bool, typer.Option("--interrupt-stalled", help="Send SIGINT to a run that is stalled.")]
Terminate = Annotated[bool, typer.Option("--terminate-stalled", help="Send SIGTERM to the processes of a stalled run.")]
NoSync = Annotated[bool, typer.Option("--no-sync-index", help="Leave the index alone.")]
StallAfter = Annotated[
    float,
    typer.Option(
        "--stall-after", min=1, callback=seconds, metavar="S", help="Seconds of silence without work that are a stall."
    ),
]
StallSamples = Annotated[
    int, typer.Option("--stall-samples", min=1, max=100, metavar="N", help="Silent samples in a row before that.")
]
SpinAfter = Annotated[
    float,
    typer.Option(
        "--spin-after",
        min=1,
        callback=seconds,
        metavar="S",
        help="Seconds after which a silent agent that burns a processor is stalled.",
    ),
]
WaitAfter = Annotated[
    float,
    typer.Option(
        "--provider-wait-after",
        min=0,
        callback=seconds,
        metavar="S",
        help="Seconds of waiting for the model that are told.",
    ),
]
LeastMemory = Annotated[
    int, typer.Option("--least-memory", min=0, metavar="MIB", help="Free memory below which the host is short of it.")
]
LeastDisk = Annotated[
    int, typer.Option("--least-disk", min=0, metavar="MIB", help="Free disk below which the host is short of it.")
]
Attempts = Annotated[
    int, typer.Option("--attempts", min=1, max=100, metavar="N", help="How often a rule is tried on one condition.")
]


@supervisor_app.callback()
def supervisor(context: typer.Context, as_json: AsJson = False, state_root: StateRoot = None) -> None:
    """Look at every live run of this host, name what is wrong, and help where allowed."""
    Call.of(context, as_json, state_root)


def _settings(
    session: Session = None,
    interrupt_stalled: Interrupt = False,
    terminate_stalled: Terminate = False,
    no_sync_index: NoSync = False,
    stall_after: StallAfter = 600.0,
    stall_samples: StallSamples = 3,
    spin_after: SpinAfter = 1800.0,
    provider_wait_after: WaitAfter = 60.0,
    least_memory: LeastMemory = 256,
    least_disk: LeastDisk = 1024,
    attempts: Attempts = 3,
) -> "Settings":
    """Read what all commands have in common."""
    from agent_workflow.cli.supervisor.settings import Settings

    return Settings(
        sessions=frozenset(session or ()),
        interrupt_stalled=interrupt_stalled,
        terminate_stalled=terminate_stalled,
        sync_index=not no_sync_index,
        stall_seconds=stall_after,
        stall_samples=stall_samples,
        spin_seconds=max(spin_after, stall_after),
        provider_wait_seconds=provider_wait_after,
        least_memory_bytes=least_memory * _MIB,
        least_disk_bytes=least_disk * _MIB,
        attempts=attempts,
    )


def _with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :func:`_settings` in the place of its parameter ``settings``."""
    options = inspect.signature(_settings).parameters

    @functools.wraps(command)
    def called(**given: object) -> None:
        chosen = {name: given.pop(name) for name in options}
        command(**given, settings=_settings(**chosen))  # type: ignore[arg-type]  # as Typer has read them

    own = inspect.signature(command).parameters.values()
    merged = [one for each in own for one in (options.values() if each.name == "settings" else (each,))]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in merged]
    called.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]  # it is looked for
    called.__annotations__ = {one.name: one.annotation for one in merged}
    return called


@supervisor_app.command()
@_with_settings
def once(context: typer.Context, settings: "Settings", as_json: AsJson = False, state_root: StateRoot = None) -> None:
    """Look once, write down what is seen, help where allowed, and print a report.

    Exits 1 when a run could not be looked at; waits for the cycle of another supervisor.
    """
    call = Call.of(context, as_json, state_root)
    with _refusals():
        report = _supervisor(call, settings).cycle()
    if call.as_json:
        show_document(report.to_document())
    else:
        from agent_workflow.cli._supervisor_words import report_lines

        say(*report_lines(report))
    _tell_index(report)
    if report.errors:
        raise typer.Exit(EXIT_NOT_GOOD)


Interval = Annotated[
    float, typer.Option("--interval", min=0.1, callback=seconds, metavar="S", help="Seconds between looks.")
]


@supervisor_app.command()
@_with_settings
def run(
    context: typer.Context,
    *,
    interval: Interval = 30.0,
    settings: "Settings",
    as_json: Annotated[bool, typer.Option("--json", hidden=True, help="Print one JSON document.")] = False,
    state_root: StateRoot = None,
) -> None:
    """Look again and again in the foreground, and print a line for each change, until SIGINT or SIGTERM.

    Exits 1 at once when another one supervises the same state root.
    """
    call = Call.of(context, as_json, state_root)
    if call.as_json:
        message = "run prints lines as things change, it cannot be one JSON document"
        hint = "leave --json out, or use supervisor once"
        raise usage_error(message, hint)
    from agent_workflow.cli.supervisor.loop import run_until, told_to_end

    supervised = _supervisor(call, settings)
    with _refusals(), told_to_end() as wait:
        run_until(supervised, interval, wait, _Told())


def _supervisor(call: Call, settings: "Settings") -> "Supervisor":
    from agent_workflow.cli.supervisor.clock import SystemClock
    from agent_workflow.cli.supervisor.cycle import Supervisor

    return Supervisor(call.state_root, settings, SystemClock())


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what stops a supervisor as a whole into words."""
    from agent_workflow.cli.supervisor.holder import SupervisorBusy
    from agent_workflow.tracer.evidence import UnsafeStateRoot

    try:
        yield
    except UnsafeStateRoot as error:
        path = None if error.path is None else str(error.path)
        raise CommandFailed(Failure("unsafe_path", str(error), path, error.hint or None, EXIT_REFUSED)) from error
    except SupervisorBusy as error:
        hint = "wait for it to end, or stop it, then call again"
        raise CommandFailed(Failure("supervisor_busy", str(error), hint=hint)) from error


def _tell_index(report: "Report") -> None:
    from agent_workflow.cli._supervisor_words import index_trouble

    if (trouble := index_trouble(report)) is not None:
        tell(trouble)


class _Told:
    """Prints what changed in a cycle, and trouble that lasts only once."""

    def __init__(self) -> None:
        self._lasting: set[str] = set()

    def __call__(self, report: "Report") -> None:
        from agent_workflow.cli._supervisor_words import change_lines, index_trouble, lasting_lines

        lasting = list(lasting_lines(report))
        if (trouble := index_trouble(report)) is not None:
            lasting.append(f"index: {trouble}")
        lines = [*change_lines(report), *(line for line in lasting if line not in self._lasting)]
        self._lasting = set(lasting)
        if lines:
            clock = report.finished_at[11:19]
            say(*(f"{clock} {line}" for line in lines))
            flush_stdout()
