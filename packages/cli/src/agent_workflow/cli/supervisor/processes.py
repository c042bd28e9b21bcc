"""Which processes a run has by its own evidence: the one that runs it, and the agent that works in it."""

from dataclasses import dataclass, field
from pathlib import Path

from agent_workflow.cli.supervisor.clock import Anchor, elapsed_since, parse_time
from agent_workflow.cli.supervisor.documents import (
    Document,
    FileState,
    file_state,
    inner,
    parse,
    read_bytes,
    read_document,
    text,
    whole_number,
)
from agent_workflow.cli.supervisor.process_table import Expected, ProcessTable, Seen
from agent_workflow.cli.supervisor.runs import Run
from agent_workflow.cli.supervisor.samples import ProcessSample, sample_process

_HEARTBEAT = "heartbeat.json"
_STATE = "state.jsonl"
_MOST_STATE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Processes:
    """A run's processes in one cycle.

    Attributes:
        runner, executor: the two that a sample shows.
        expected: the one whose end is the run's, as it is recorded: the runner, or the agent where no runner is known.
        agents: every living agent of the run; one or none unless agents work side by side.
        names: what the trace calls them; None for a run without a trace.
        are_dated: a later process of the same pid would have been told from each of them.
        below: what lives below the agents, or below the runner where there is no agent.
    """

    runner: ProcessSample
    executor: ProcessSample
    expected: Expected
    agents: tuple[Seen, ...]
    names: frozenset[str] | None
    are_dated: bool
    below: tuple[Seen, ...]

    @property
    def leading(self) -> ProcessSample:
        """The process whose end is the run's."""
        return self.executor if self.runner.pid is None else self.runner


@dataclass(slots=True)
class ProcessMemory:
    """What was read of traced sessions' process rows, while their files did not change."""

    rows: dict[Path, tuple[FileState, list[Document]]] = field(default_factory=dict)

    def rows_of(self, session: Path) -> list[Document]:
        """Return the process rows of a session that are not recorded as ended.

        Raises:
            BadEvidence: its file cannot be read.
        """
        path = session / _STATE
        state = file_state(path)
        if state is None:
            self.rows.pop(session, None)
            return []
        known = self.rows.get(session)
        if known is not None and known[0] == state:
            return known[1]
        rows = _open_rows(read_bytes(path, limit=_MOST_STATE_BYTES) or b"")
        self.rows[session] = (state, rows)
        return rows

    def forget_all_but(self, sessions: frozenset[Path]) -> None:
        """Forget the sessions that are no longer looked at."""
        self.rows = {path: known for path, known in self.rows.items() if path in sessions}


def processes_of(
    run: Run,
    table: ProcessTable,
    memory: ProcessMemory,
    previous: Document | None,
    now: Anchor,
    before: Anchor | None,
) -> Processes:
    """Find the processes of a run.

    Args:
        run: the run.
        table: this cycle's pass.
        memory: of traced sessions.
        previous: the run's health sample before this one: it knows when a pid's process started.
        now: the clocks now.
        before: the clocks at the end of the cycle before.

    Raises:
        BadEvidence: what the run says about them cannot be read.
    """
    if run.trace is not None:
        rows = memory.rows_of(run.trace.session)
        runners, agents = _of_trace(run, rows)
    else:
        rows = None
        runners, agents = _of_heartbeat(run, previous, now, before)
    runner = _first_living(runners, table)
    executor = _first_living(agents, table)
    living = tuple(
        seen
        for expected in agents
        if table.identify(expected) == "same" and (seen := table.find(expected.pid or 0)) is not None
    )
    roots = living or ((seen,) if (seen := _living(runner, table)) else ())
    own = {seen.pid for seen in living}
    below = {seen.pid: seen for root in roots for seen in table.below(root.pid) if seen.pid not in own}
    return Processes(
        sample_process(runner.pid, table.identify(runner), table),
        sample_process(executor.pid, table.identify(executor), table),
        executor if runner.pid is None else runner,
        living,
        None if rows is None else _living_names(rows, table),
        runner.is_dated and executor.is_dated,
        tuple(below.values()),
    )


def _living_names(rows: list[Document], table: ProcessTable) -> frozenset[str]:
    return frozenset(
        str(row.get("name")) for row in rows if row.get("kind") == "agent" and table.identify(_expected(row)) == "same"
    )


def _living(expected: Expected, table: ProcessTable) -> Seen | None:
    return table.find(expected.pid or 0) if table.identify(expected) == "same" else None


def _first_living(candidates: list[Expected], table: ProcessTable) -> Expected:
    """Return the newest that lives, else the newest; an unknown one where there is none."""
    for expected in reversed(candidates):
        if table.identify(expected) == "same":
            return expected
    return candidates[-1] if candidates else Expected()


def _of_trace(run: Run, rows: list[Document]) -> tuple[list[Expected], list[Expected]]:
    launched = inner(run.launch, "runner")
    runners = [_expected(row) for row in rows if row.get("kind") != "agent"]
    agents = [_expected(row) for row in rows if row.get("kind") == "agent"]
    return [*runners, _expected(launched)], agents


def _expected(row: Document) -> Expected:
    return Expected(whole_number(row.get("pid")), text(row.get("start_marker")))


def _open_rows(data: bytes) -> list[Document]:
    """Return the rows of processes that have no end, in the order in which they were first written."""
    rows: dict[int, Document] = {}
    for line in data.split(b"\n")[:-1]:
        if b'"processes"' not in line:
            continue
        try:
            record = parse(line)
        except ValueError:
            continue  # the tracer's own readers tell damage of a trace
        number = whole_number(inner(record, "row").get("id"))
        if record.get("table") != "processes":
            continue
        if number is not None:
            rows.setdefault(number, {}).update(record["row"])
        elif (void := whole_number(inner(record, "void").get("id"))) is not None:
            rows.pop(void, None)
    return [row for row in rows.values() if row.get("ended_at") is None]


def _of_heartbeat(
    run: Run, previous: Document | None, now: Anchor, before: Anchor | None
) -> tuple[list[Expected], list[Expected]]:
    beat = read_document(run.directory / _HEARTBEAT) or {}
    written = parse_time(beat.get("at"))
    runner = whole_number(beat.get("runner_pid"))
    if runner is None:
        runner, written = run.runner_pid, parse_time(run.document.get("updated_at"))
    since = None if written is None else elapsed_since(written, now, before)
    found = []
    for role, pid in (("runner", runner), ("executor", whole_number(beat.get("executor_pid")))):
        sampled = inner(previous, role)
        # A sample of a process that was not it holds the start of nothing.
        is_known = sampled.get("pid") == pid and sampled.get("alive") is True
        ticks = whole_number(sampled.get("process_start_ticks")) if is_known else None
        found.append([Expected(pid, None, ticks, since)] if pid else [])
    return found[0], found[1]
