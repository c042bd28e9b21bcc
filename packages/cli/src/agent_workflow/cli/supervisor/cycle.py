"""One cycle over every live run of a state root: look, record, help, and go on whatever one run is like."""

from pathlib import Path

from agent_workflow.cli.supervisor import holder
from agent_workflow.cli.supervisor.clock import Anchor, Clock, stamp
from agent_workflow.cli.supervisor.discovery import Discovery, Found, Listing
from agent_workflow.cli.supervisor.documents import BadEvidence
from agent_workflow.cli.supervisor.index_sync import IndexSync
from agent_workflow.cli.supervisor.look import Look, Remembered
from agent_workflow.cli.supervisor.process_table import ProcessTable
from agent_workflow.cli.supervisor.processes import ProcessMemory
from agent_workflow.cli.supervisor.report import Report, RunFault
from agent_workflow.cli.supervisor.run_cycle import RunCycle
from agent_workflow.cli.supervisor.runs import EmptyRun, Run
from agent_workflow.cli.supervisor.samples import sample_host
from agent_workflow.cli.supervisor.settings import Settings
from agent_workflow.cli.supervisor.streams import StreamMemory
from agent_workflow.cli.supervisor.work import Processors
from agent_workflow.tracer import TracerError
from agent_workflow.tracer.evidence import RunIsSealed, runs_directory


class Supervisor:
    """Looks at a state root again and again; what it remembers between cycles only saves work.

    Attributes:
        root: the state root.
        settings: thresholds and permissions.
    """

    def __init__(self, root: Path, settings: Settings, clock: Clock) -> None:
        self.root = root
        self.settings = settings
        self._clock = clock
        self._discovery = Discovery()
        self._streams = StreamMemory()
        self._sessions = ProcessMemory()
        self._samples: dict[str, Remembered] = {}
        self._index = IndexSync(root, is_wanted=settings.sync_index)
        self._before: tuple[ProcessTable, float] | None = None

    def is_there(self) -> bool:
        """Tell whether there is a state root with runs.

        Raises:
            UnsafeStateRoot: it is not safely ours.
        """
        try:
            runs_directory(self.root)
        except FileNotFoundError:
            return False
        return True

    def cycle(self, patience: float = holder.CYCLE_SECONDS) -> Report:
        """Look at every live run once.

        Args:
            patience: seconds to wait for the cycle of another supervisor.

        Returns:
            What was seen and done. A run that could not be looked at is among the errors.

        Raises:
            UnsafeStateRoot: the state root, or ``runs/``, is not safely ours.
            SupervisorBusy: another supervisor is in a cycle.
            OSError: the state root cannot be read.
        """
        report = Report(str(self.root), stamp(self._clock.now()))
        try:
            runs = runs_directory(self.root)
        except FileNotFoundError:
            report.finished_at = stamp(self._clock.now())
            return report
        with holder.cycle_lock(self.root, patience):
            self._look_at_all(runs, report)
        # Without the lock: filling an index anew takes its time.
        report.index_sync = self._index.after_cycle(self._clock.monotonic(), wrote=report.wrote)
        report.finished_at = stamp(self._clock.now())
        return report

    def _look_at_all(self, runs: Path, report: Report) -> None:
        kept = holder.read_file(self.root)
        before, known = Anchor.from_document(kept.get("clock")), Listing.from_document(kept.get("runs"))
        found, listing = self._discovery.look(runs, self.settings.sessions, known)
        report.ended_runs = found.ended
        for fault in found.faults:
            if isinstance(fault, EmptyRun):
                report.notices.append(f"{fault.path.name} is empty: no run yet, or one that was never begun")
            else:
                report.errors.append(RunFault(_session(runs, fault.path), str(fault.path), fault.reason))
        earlier, self._before = self._before, None
        if found.live or found.unsealed:
            table = ProcessTable.scan()
            look = self._look(table, before, earlier)
            for run in (*found.live, *found.unsealed):
                self._guarded(run, look, report)
            self._before = (table, look.now.monotonic)
        self._forget(found)
        self._keep(listing, report)

    def _keep(self, listing: Listing | None, report: Report) -> None:
        """Keep what the next cycle wants to know; without it, that one falls back on what it sees."""
        clock = Anchor.of(self._clock).to_document()
        try:
            holder.keep(self.root, clock=clock, runs=None if listing is None else listing.to_document())
        except OSError as error:
            report.errors.append(RunFault(None, str(self.root / holder.FILE), _words(error)))

    def _look(self, table: ProcessTable, before: Anchor | None, earlier: tuple[ProcessTable, float] | None) -> Look:
        now = Anchor.of(self._clock)
        since = None if earlier is None else (earlier[0], now.monotonic - earlier[1])
        return Look(
            table=table,
            host=sample_host(self.root),
            now=now,
            before=before,
            processors=Processors(table, since),
            streams=self._streams,
            sessions=self._sessions,
            samples=self._samples,
        )

    def _guarded(self, run: Run, look: Look, report: Report) -> None:
        """Look at one run; what is wrong with it stays with it."""
        try:
            RunCycle(run, look, self.settings, self._clock, report).go()
        except RunIsSealed:
            report.ended_runs += 1  # it ended while we looked
        except BadEvidence as fault:
            report.errors.append(RunFault(run.session_id, str(fault.path), fault.reason))
        except TracerError as error:
            report.errors.append(RunFault(run.session_id, str(error.path or run.directory), str(error)))
        except (OSError, ValueError) as error:
            if isinstance(error, FileNotFoundError) and not run.directory.exists():
                report.notices.append(f"{run.session_id} was moved away while it was looked at")
                return
            report.errors.append(RunFault(run.session_id, str(run.directory), _words(error)))

    def _forget(self, found: Found) -> None:
        live = (*found.live, *found.unsealed)
        sessions = frozenset(run.trace.session for run in live if run.trace is not None)
        self._streams.forget_all_but(sessions | {run.directory for run in live})
        self._sessions.forget_all_but(sessions)
        names = {run.session_id for run in live}
        self._samples = {name: samples for name, samples in self._samples.items() if name in names}


def _session(runs: Path, path: Path) -> str | None:
    try:
        return path.relative_to(runs).parts[0]
    except (ValueError, IndexError):
        return None


def _words(error: Exception) -> str:
    """Say what kind of error it was; its text may quote evidence."""
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else type(error).__name__
