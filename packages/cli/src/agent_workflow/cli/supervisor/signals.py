"""``interrupt-stalled/v1`` and ``terminate-stalled/v1``: only when asked for, only a stalled run's own processes."""

import os
import signal
import time
from collections.abc import Sequence

from agent_workflow.cli.supervisor.documents import Document
from agent_workflow.cli.supervisor.history import Writer
from agent_workflow.cli.supervisor.incidents import Incident
from agent_workflow.cli.supervisor.process_table import ProcessTable, Seen, look
from agent_workflow.cli.supervisor.remediations import Remediation, Rule, attempts, begin, finish, open_attempts
from agent_workflow.cli.supervisor.runs import Run
from agent_workflow.cli.supervisor.samples import ProcessSample
from agent_workflow.tracer import hold_process

INTERRUPT = Rule("interrupt-stalled/v1", "interrupt")
TERMINATE = Rule("terminate-stalled/v1", "terminate")

_GRACE_SECONDS = 2.0


def help_stalled(
    run: Run, writer: Writer, incident: Incident, runner: ProcessSample, executor: ProcessSample, table: ProcessTable
) -> Remediation | None:
    """Signal a stalled run as far as that is allowed, for a caller that holds the run's lock.

    Where both are allowed, it is interrupted once, and terminated in later cycles while it is stalled still.

    Args:
        run: stalled.
        writer: of the run.
        incident: of the stall; attempts are counted for it.
        runner: the process that runs it.
        executor: its agent.
        table: this cycle's pass.

    Returns:
        None where nothing is allowed any more.

    Raises:
        EvidenceError: the intent or the outcome cannot be written; without an intent nothing is signalled.
    """
    settings = writer.settings
    rule = INTERRUPT if settings.interrupt_stalled else TERMINATE
    if (
        settings.interrupt_stalled
        and settings.terminate_stalled
        and attempts(writer.history, INTERRUPT, _of(incident))[0]
    ):
        rule = TERMINATE
    if not settings.interrupt_stalled and not settings.terminate_stalled:
        return None
    targets = _targets(rule, run, runner, executor, table)
    if not targets:
        return None
    attempt = begin(writer, rule, _of(incident), incident.summary, incident.incident_id)
    if attempt is None:
        return None
    number = signal.SIGINT if rule is INTERRUPT else signal.SIGTERM
    sent = [target for target in targets if _send(target, number)]
    # Its workflow may wait for the lock that we hold to tell its end; its agent ends without.
    agent = [executor.seen] if executor.alive and executor.seen is not None else []
    watched = [*sent, *(seen for seen in agent if seen not in sent)] if sent else []
    ended = _wait_for(watched, at_least=1 if rule is INTERRUPT else len(watched))
    details: Document = {
        "signal": number.name,
        "signalled": [target.pid for target in sent],
        "ended": [target.pid for target in ended],
    }
    if not sent:
        return finish(writer, attempt, "failed", "nothing of it could be signalled", details)
    if not ended:
        return finish(writer, attempt, "unverified", f"none of it ended within {_GRACE_SECONDS:g} s", details)
    return finish(writer, attempt, "applied", f"{len(ended)} of {len(watched)} processes ended", details)


def finish_open(writer: Writer) -> list[Remediation]:
    """Close attempts whose supervisor was killed: whether it had signalled yet nobody knows, so it is not done again.

    Raises:
        EvidenceError: the journal cannot be written.
    """
    reason = "the supervisor was killed before it could say what came of it"
    return [
        finish(writer, attempt, "unverified", reason, {})
        for rule in (INTERRUPT, TERMINATE)
        for attempt in open_attempts(writer.history, rule)
    ]


def _of(incident: Incident) -> str:
    return f"incident {incident.incident_id}"


def _targets(
    rule: Rule, run: Run, runner: ProcessSample, executor: ProcessSample, table: ProcessTable
) -> Sequence[Seen]:
    """Name what may be signalled, the deepest first; never ourselves nor what we were started from."""
    agent = executor.seen if executor.alive else None
    head = runner.seen if runner.alive else None
    if run.trace is None and executor.pid is not None:
        head = None  # another system's runner is left to tell how its agent ended
    if rule is INTERRUPT:
        # A traced workflow ends its agents itself when it is interrupted, and says why.
        first = head if run.trace is not None else agent
        chosen = [first or agent or head]
    else:
        top = agent or head
        group = [] if top is None else [seen for seen in table.below(top.pid) if seen.group == top.group]
        chosen = [*group, top, *([head] if run.trace is not None and head is not top else [])]
    spared = _ourselves(table)
    return [seen for seen in chosen if seen is not None and seen.pid > 1 and seen.pid not in spared]


def _ourselves(table: ProcessTable) -> set[int]:
    pids: set[int] = set()
    seen = table.find(os.getpid())
    while seen is not None and seen.pid not in pids:
        pids.add(seen.pid)
        seen = table.find(seen.parent or 0)
    return pids


def _send(target: Seen, number: signal.Signals) -> bool:
    try:
        with hold_process(target.pid) as send:
            if not _is_running(target):
                return False
            send(number)
    except OSError:
        return False
    return True


def _is_running(target: Seen) -> bool:
    """Look again whether a process is still the one that was seen; without a start time it is not believed."""
    living = look(target.pid)
    return living is not None and not living.is_dead and living.is_same_as(target)


def _wait_for(targets: Sequence[Seen], at_least: int) -> list[Seen]:
    deadline = time.monotonic() + _GRACE_SECONDS
    while True:
        ended = [target for target in targets if not _is_running(target)]
        if len(ended) >= at_least or time.monotonic() >= deadline:
            return ended
        time.sleep(0.05)
