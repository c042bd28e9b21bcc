"""``supervisor run``: one cycle after the other, until it is told to end."""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from agent_workflow.cli.supervisor.clock import stamp
from agent_workflow.cli.supervisor.cycle import Supervisor
from agent_workflow.cli.supervisor.holder import SupervisorBusy, only_runner
from agent_workflow.cli.supervisor.report import Report, RunFault


@contextmanager
def told_to_end() -> Iterator[Callable[[float], bool]]:
    """Wait for SIGINT and SIGTERM instead of being ended by them.

    Yields:
        A function that waits so many seconds, and returns early and True once one of them has come.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    came: list[int] = []
    before = {number: signal.signal(number, lambda got, _frame: came.append(got)) for number in _ENDS}
    wakes = signal.set_wakeup_fd(writing)

    def wait(seconds: float) -> bool:
        if not came:
            select.select([reading], [], [], max(0.0, seconds))
        return bool(came)

    try:
        yield wait
    finally:
        signal.set_wakeup_fd(wakes)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


_PATIENCE_SECONDS = 5.0
"""How long a cycle of another one is waited for: whoever tells us to end waits no longer."""

_ENDS = (signal.SIGINT, signal.SIGTERM)


def run_until(
    supervisor: Supervisor, seconds: float, wait: Callable[[float], bool], tell: Callable[[Report], None]
) -> None:
    """Look again and again, as the only one that does on this state root.

    Args:
        supervisor: of the state root, which may come later.
        seconds: from the end of a cycle to the beginning of the next.
        wait: from :func:`told_to_end`.
        tell: given each cycle's report.

    Raises:
        SupervisorBusy: another one runs.
        UnsafeStateRoot: the state root is not safely ours.
    """
    since = stamp(datetime.now(UTC))
    with ExitStack() as held:
        is_held = False
        while True:
            if not is_held and supervisor.is_there():
                held.enter_context(only_runner(supervisor.root, since))
                is_held = True
            tell(_cycle(supervisor))
            if wait(seconds):
                return


def _cycle(supervisor: Supervisor) -> Report:
    """Look once; what stands in the way now may be gone at the next look."""
    try:
        return supervisor.cycle(_PATIENCE_SECONDS)
    except (SupervisorBusy, OSError) as error:
        now = stamp(datetime.now(UTC))
        fault = RunFault(None, str(supervisor.root), str(error))
        return Report(str(supervisor.root), now, now, errors=[fault])
