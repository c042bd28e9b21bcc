"""One run in one cycle: sample, permissions, incidents, and what helps."""

from agent_workflow.cli.supervisor import incidents, lost_runs, permission_events, signals, status_rebuild
from agent_workflow.cli.supervisor.channels import Channels, channels_of_run, channels_of_session
from agent_workflow.cli.supervisor.clock import Clock
from agent_workflow.cli.supervisor.conditions import MISSING, STALLED, Facts, Waiting, Work, is_gone, judge
from agent_workflow.cli.supervisor.documents import BadEvidence, Document, file_state, inner, read_document
from agent_workflow.cli.supervisor.history import History, Writer
from agent_workflow.cli.supervisor.incidents import Incident
from agent_workflow.cli.supervisor.look import Look, Remembered
from agent_workflow.cli.supervisor.processes import Processes, processes_of
from agent_workflow.cli.supervisor.progress import Beginning, Progress, measure
from agent_workflow.cli.supervisor.report import Report, RunFault, RunHealth
from agent_workflow.cli.supervisor.runs import FINAL_STATUS, LIVE, Run, read_run
from agent_workflow.cli.supervisor.samples import sample_record
from agent_workflow.cli.supervisor.settings import Settings
from agent_workflow.cli.supervisor.streams import Reading, of_the_dead, sources_of
from agent_workflow.cli.supervisor.work import work_of
from agent_workflow.tracer.evidence import is_sealed, run_lock

_LOCK_SECONDS = 1.0
_PROCESS_RESULT = "process-result.json"


class RunCycle:
    """Looks at one run once."""

    def __init__(self, run: Run, look: Look, settings: Settings, clock: Clock, report: Report) -> None:
        self._run = run
        self._look = look
        self._settings = settings
        self._clock = clock
        self._report = report
        self._recorded: Document | None = None

    def go(self) -> None:
        """Do all of it.

        Raises:
            RunIsSealed: it ended meanwhile.
            BadEvidence, TracerError, OSError: what is wrong with this run.
        """
        with run_lock(self._run.directory, seconds=_LOCK_SECONDS):
            if is_sealed(self._run.directory):
                self._report.ended_runs += 1
                return
            history = History.read(self._run.directory, self._settings)
            self._tell_damage(history)
            self._remember_unrecorded(history)
            writer = Writer(self._run.session_id, history, self._settings, self._clock)
            if not self._settle_status(writer):
                return
            processes = self._processes(history)
            lost = self._is_lost(processes)
            # What is being closed already is not told anew: a supervisor was killed before the last step of it.
            is_closing = lost and file_state(self._run.directory / FINAL_STATUS) is not None
            if self._run.status in LIVE and not is_closing and (lost or not is_gone(processes.leading)):
                self._record(writer, processes)
        # Closing takes the lock itself: it may have to wait for the trace's own.
        if lost and not self._still_running(processes):
            self._finalize(writer, processes)

    def _remember_unrecorded(self, history: History) -> None:
        """Go on from the samples that a journal at its cap did not take, unless somebody else has sampled since."""
        self._recorded = history.last_sample
        remembered = self._look.samples.get(self._run.session_id)
        if remembered is not None and remembered.recorded == self._recorded:
            history.samples = list(remembered.newest)

    def _tell_damage(self, history: History) -> None:
        for name, line in history.damaged.items():
            where = f"line {line} is damaged" if line else "one of its last lines is damaged"
            self._report.errors.append(RunFault(self._run.session_id, str(self._run.directory / name), where))

    def _settle_status(self, writer: Writer) -> bool:
        """Make a missing status again, and finish what a killed supervisor began; False for a run that ended."""
        if self._run.status is None:
            if not status_rebuild.can_rebuild(self._run):
                self._report.notices.append(f"{self._run.session_id} has no status, and nothing says what it was")
                return False
            done = status_rebuild.rebuild_status(self._run, writer)
            self._report.remediations.extend([] if done is None else [done])
            if done is None or done.outcome != "applied":
                path = self._run.directory / "status.json"
                raise BadEvidence(path, self._run.status_fault or "is missing, and was rebuilt too often")
            self._run = read_run(self._run.directory)
        else:
            self._report.remediations.extend(status_rebuild.finish_open(writer))
        self._report.remediations.extend(signals.finish_open(writer))
        if self._run.status in LIVE or self._run.trace is not None:
            return True
        self._report.ended_runs += 1
        return False

    def _processes(self, history: History) -> Processes:
        look = self._look
        return processes_of(self._run, look.table, look.sessions, history.last_sample, look.now, look.before)

    def _is_lost(self, processes: Processes) -> bool:
        """Tell whether the run's process is gone; the status is read again after it was seen to be."""
        if not is_gone(processes.leading) or self._look.table.identify(processes.expected, anew=True) == "same":
            return False
        again = read_run(self._run.directory)
        if again.status in LIVE:
            return True
        self._run = again
        return again.trace is not None  # ended, and its seal is due

    def _still_running(self, processes: Processes) -> int:
        """Count what of a run lives on although its runner is gone."""
        return len(processes.agents) + (len(processes.below) if processes.agents else 0)

    def _record(self, writer: Writer, processes: Processes) -> None:
        readings = self._readings(processes)
        channels = self._channels()
        previous = writer.history.last_sample
        progress = self._progress(channels, processes, previous)
        now = self._look.now
        sample = sample_record(
            self._run.session_id, now.wall, processes.runner, processes.executor, self._look.host, channels, progress,
            self._run.pane,
        )  # fmt: skip
        earlier = list(writer.history.samples)
        is_recorded = writer.sample(sample)
        newest = [*earlier, sample][-self._settings.stall_samples :]
        self._look.samples[self._run.session_id] = Remembered(sample if is_recorded else self._recorded, newest)
        self._report.permissions.extend(permission_events.reconcile(readings, writer))
        work = work_of(processes, readings, progress, earlier, self._look.processors, self._settings)
        facts = Facts(
            runner=processes.runner,
            executor=processes.executor,
            host=self._look.host,
            progress=progress,
            work=work,
            waiting=_waiting(readings),
            recent=newest,
            open_already=incidents.open_already(writer.history),
            truncated=self._truncated(),
            below=self._still_running(processes),
        )
        found = incidents.reconcile(judge(facts, self._settings), writer)
        self._report.incidents.extend(found)
        self._report.health.append(
            RunHealth(
                self._run.session_id,
                self._run.trace is not None,
                self._run.status,
                _word(found, processes, progress, work, self._settings.busy_fraction),
                sample,
                is_recorded,
            )
        )
        self._help(writer, processes, found)
        self._report.notices.extend(
            f"{self._run.session_id}: {name} is at its cap; no more is appended to it"
            for name in sorted(writer.history.capped)
        )

    def _help(self, writer: Writer, processes: Processes, found: list[Incident]) -> None:
        stalled = next((item for item in found if item.category == STALLED and item.change != "resolved"), None)
        if stalled is None or not processes.are_dated:
            return  # what may be a stranger by now is never signalled
        done = signals.help_stalled(self._run, writer, stalled, processes.runner, processes.executor, self._look.table)
        self._report.remediations.extend([] if done is None else [done])

    def _finalize(self, writer: Writer, processes: Processes) -> None:
        opened = next((item for item in self._report.incidents if _is_missing_of(item, self._run)), None)
        done, ended = lost_runs.finalize(
            self._run,
            writer,
            processes.expected.pid,
            None if opened is None else opened.incident_id,
            lambda: self._look.table.identify(processes.expected, anew=True) != "same",
            self._report.notices.append,
        )
        self._report.remediations.extend(done)
        self._report.incidents.extend(ended)

    def _readings(self, processes: Processes) -> list[Reading]:
        readings = []
        for source in sources_of(self._run):
            reading = self._look.streams.read(source, self._settings.tail_bytes)
            if reading is None:
                continue
            names = processes.names
            is_alive = source.agent in names if names is not None else not is_gone(processes.executor)
            readings.append(reading if is_alive else of_the_dead(reading))
        return readings

    def _channels(self) -> Channels:
        trace = self._run.trace
        return channels_of_run(self._run.directory) if trace is None else channels_of_session(trace.session)

    def _progress(self, channels: Channels, processes: Processes, previous: dict[str, object] | None) -> Progress:
        seen = processes.runner.seen if processes.runner.alive else None
        beginning = Beginning(self._run.created_at, None if seen is None else seen.age_seconds)
        return measure(channels, previous, self._look.now, self._look.before, beginning)

    def _truncated(self) -> tuple[str, ...]:
        """Name what the run's own system says it no longer keeps whole."""
        if self._run.trace is not None:
            return ()
        result = read_document(self._run.directory / _PROCESS_RESULT)
        names = [name for name in ("stdout", "stderr") if inner({"r": result}, "r").get(f"{name}_truncated") is True]
        if not names and self._run.document.get("output_capture_exhausted") is True:
            names = ["output"]
        return tuple(names)


def _is_missing_of(item: Incident, run: Run) -> bool:
    return item.session_id == run.session_id and item.category == MISSING


def _waiting(readings: list[Reading]) -> Waiting:
    waits = [reading.wait for reading in readings if reading.wait is not None]
    newest = waits[-1] if waits else None
    return Waiting(
        permission_events.open_prompts(readings),
        None if newest is None else newest.reason,
        None if newest is None else newest.attempt,
    )


_WORDS = {"process_alive_no_progress": "stalled", "process_missing": "missing"}


def _word(found: list[Incident], processes: Processes, progress: Progress, work: Work, busy: float) -> str:
    """Say in a word how a run is."""
    for item in found:
        if item.change == "resolved":
            continue
        if item.category in _WORDS:
            return _WORDS[item.category]
        if item.category.endswith("_wait"):
            return "waiting"
    if not processes.runner.alive and not processes.executor.alive:
        return "unknown"
    shares = (work.own_share or 0.0) + (work.below_share or 0.0)
    if progress.grew or work.open_tools or work.new_processes or shares >= busy:
        return "working"
    return "quiet"
