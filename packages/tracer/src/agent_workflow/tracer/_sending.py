"""One send: the agent is started, its stream recorded as it comes, and its end noticed whatever it is."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_workflow.tracer import _clock
from agent_workflow.tracer._agent_process import AgentProcess
from agent_workflow.tracer._errors import AgentFailed, TraceWriteFailed
from agent_workflow.tracer._identity import recorded_command, same_command
from agent_workflow.tracer._json import clip, clip_strings
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._tracer import say
from agent_workflow.tracer.agents import Compacted, Launch, SendOutcome, StreamReader, ToolReturned, Waited

if TYPE_CHECKING:
    from agent_workflow.tracer._phase import Phase

_TEXT_CHARACTERS = 20_000
_LABEL_CHARACTERS = 80
_REST_SECONDS = 5.0
_LABEL_KEYS = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt", "description")


@dataclass(slots=True)
class Sending:
    """Runs one send of an agent.

    Attributes:
        phase: that it belongs to.
        agent: name in the configuration.
        parent_id: the ``agent_start`` that everything seen is nested in.
        reader: of the stream.
        exit_code: of the process, ``None`` while it runs.
        fault: the first record that could not be written, told when the agent has ended.
        first_output_at: when it first printed something.
    """

    phase: "Phase"
    agent: str
    parent_id: str
    reader: StreamReader
    exit_code: int | None = None
    fault: TraceWriteFailed | None = None
    first_output_at: str | None = None
    _process: AgentProcess | None = None
    _row: int | None = None

    def run(self, launch: Launch, timeout_seconds: float | None) -> SendOutcome:
        """Start the agent and follow it to its end.

        An exception (a signal, for one) ends the agent and everything below it before it goes on.

        Args:
            launch: how to start it.
            timeout_seconds: how long it may take, ``None`` for as long as it likes.

        Raises:
            AgentFailed: it could not be started, or took too long.
            TraceWriteFailed: something of it could not be recorded; the agent was left in peace until its end.
        """
        try:
            self._start(launch)
            self._follow(recorded_command(launch.argv), timeout_seconds)
        finally:
            with self.phase.run.tracer.shield:  # a signal that comes now must not cost the records of the end
                self._ended()
        if self.fault is not None:
            raise self.fault
        return self.outcome()

    def outcome(self) -> SendOutcome:
        """Sum up what was seen so far."""
        return self.reader.outcome(-9 if self.exit_code is None else self.exit_code, _clock.now())

    def _start(self, launch: Launch) -> None:
        run = self.phase.run
        folder = run.files.agent(self.agent)
        with run.tracer.shield:  # no signal between the start and the row that tells of it
            announced = 0
            try:
                announced = run.watch.begin()
            except OSError as error:
                say(f"agents of this run would outlive a SIGKILL: {error}")
            try:
                self._process = AgentProcess(
                    launch.argv,
                    launch.environment,
                    cwd=run.config.root,
                    mark=run.watch.next_mark(),
                    stdout_file=folder / "raw_output.jsonl",
                    stderr_file=folder / "stderr.log",
                    redactor=run.tracer.redactor,
                    stdin=launch.stdin,
                )
            except OSError as error:
                run.watch.remove(announced)
                raise AgentFailed(f"cannot start {launch.argv[0]}: {error.strerror or error}") from error
            run.watch.add(self._process.pid, announced)
            living = find(self._process.pid)
            self._row = run.tracer.numbered_row(
                "processes",
                kind="agent",
                name=self.agent,
                pid=self._process.pid,
                command=recorded_command(launch.argv),
                started_at=_clock.now(),
                ended_at=None,
                start_marker=living.start_marker if living else None,
            )

    def _follow(self, command: str, timeout_seconds: float | None) -> None:
        process = self._process
        assert process is not None  # noqa: S101 - started before it is followed
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        try:
            for line, at in process.lines(deadline):
                if self.first_output_at is None:
                    self.first_output_at = at
                    self._record_new_command(command, process.pid)
                for seen in self.reader.read(line, at):
                    self.record(seen)
            self.exit_code = process.wait(deadline)
        except TimeoutError:
            raise AgentFailed(f"{self.agent} took longer than {timeout_seconds:g} s and was ended") from None

    def _record_new_command(self, command: str, pid: int) -> None:
        """Record what an agent is called now: some replace their arguments by a title, or themselves by a program.

        Whoever is to signal it must recognise it: Codex's launcher becomes Codex itself.
        """
        living = find(pid)
        if living is None or living.is_zombie or same_command(command, living.command):
            return
        try:
            self.phase.run.tracer.row("processes", id=self._row, command=recorded_command(living.command.split()))
        except TraceWriteFailed as error:
            self.fault = self.fault or error

    def _ended(self) -> None:
        run, process = self.phase.run, self._process
        if process is None:
            return
        if self.exit_code is None:
            process.end()
            self._take_the_rest(process)
        elif self.exit_code != 0:
            process.end()  # a crashed agent cannot look after what it has started
        run.watch.remove(process.pid)
        for seen in self.reader.complete():
            self.record(seen)
        for call in self.outcome().interrupted:
            self.record(call)
        if process.storage_fault:
            say(f"{process.storage_fault}; part of the agent's output is not stored")
        try:
            if process.left_running:
                details = {"agent": self.agent, "commands": process.left_running}
                self.phase.event("log", "left_running", details, parent_id=self.parent_id)
            if self._row is not None:
                run.tracer.row("processes", id=self._row, ended_at=_clock.now())
        except TraceWriteFailed as error:
            self.fault = self.fault or error

    def _take_the_rest(self, process: AgentProcess) -> None:
        """Record what the agent had said before it was ended and nobody had looked at yet."""
        try:
            for line, at in process.lines(time.monotonic() + _REST_SECONDS):
                for seen in self.reader.read(line, at):
                    self.record(seen)
        except TimeoutError:
            say(f"the end of {self.agent}'s output was not read: something holds it open")

    def record(self, seen: ToolReturned | Waited | Compacted) -> None:
        """Record what was seen; what cannot be recorded must not stop the agent, and is kept in ``fault``."""
        try:
            self._record(seen)
        except TraceWriteFailed as error:
            self.fault = self.fault or error

    def _record(self, seen: ToolReturned | Waited | Compacted) -> None:
        if isinstance(seen, Waited):
            details = {**seen.details, "agent": self.agent}
            self.phase.event("log", seen.name, clip_strings(details, _TEXT_CHARACTERS), parent_id=self.parent_id)
        elif isinstance(seen, Compacted):
            usage = None if seen.usage is None else seen.usage.payload()
            details = {**seen.details, "agent": self.agent, "usage": usage}
            self.phase.event("log", "compaction", clip_strings(details, _TEXT_CHARACTERS), parent_id=self.parent_id)
        else:
            self._record_tool(seen)

    def _record_tool(self, seen: ToolReturned) -> None:
        payload: dict[str, object] = {
            "tool": seen.tool,
            "tool_call_id": seen.tool_call_id,
            "args": clip_strings(seen.args, _TEXT_CHARACTERS),
            "ok": seen.ok,
            "result_snippet": clip(seen.result, _TEXT_CHARACTERS),
            "duration_ms": seen.duration_ms,
            "agent": self.agent,
        }
        if seen.interrupted:
            payload["interrupted"] = True
        if seen.parent_call_id:
            payload["parent_tool_call_id"] = seen.parent_call_id
        self.phase.run.tracer.event(
            "tool_call",
            tool_label(seen.tool, seen.args),
            payload,
            phase_id=self.phase.id,
            parent_id=self.parent_id,
            started_at=seen.started_at,
            ended_at=seen.ended_at,
        )


def tool_label(tool: str, args: object) -> str:
    """Name a tool call in one line: ``bash: ls -la src``."""
    if not isinstance(args, dict):
        return tool
    main = next((args[key] for key in _LABEL_KEYS if isinstance(args.get(key), str)), None)
    if main is None:
        main = ", ".join(f"{key}={value}" for key, value in args.items() if isinstance(value, str | int | float))
    line = " ".join(str(main).split())
    return f"{tool}: {line[:_LABEL_CHARACTERS]}" if line else tool
