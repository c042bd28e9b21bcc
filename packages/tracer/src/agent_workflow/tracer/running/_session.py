"""The session of one command: a phase of one agent, whether or not anybody knows the agent."""

import contextlib
import os
import re
import shlex
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._config import AgentConfig, Config
from agent_workflow.tracer._ensure import ensure
from agent_workflow.tracer._errors import AgentError, AgentFailed, TraceWriteFailed
from agent_workflow.tracer._identity import recorded_command
from agent_workflow.tracer._kill_request import ENDED_BY_KILL, FRONT_WAS_KILLED
from agent_workflow.tracer._params import PhaseParams
from agent_workflow.tracer._phase import Phase
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._run import Run
from agent_workflow.tracer._tracer import say
from agent_workflow.tracer.running._agent import Agent
from agent_workflow.tracer.running._ended import Ended
from agent_workflow.tracer.running._launch import Launch
from agent_workflow.tracer.running._place import settle
from agent_workflow.tracer.running._stream import Stream

_PHASE: Final = "run"
_FILES: Final = {"stdout": "raw_output.jsonl", "stderr": "stderr.log"}
_LANE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_TAKEN: Final = ("context_handoff",)


class Session:
    """Writes what is told of a command.

    Attributes:
        name: of the session.
        lane: of the agent, which also names the folder of its output.
    """

    def __init__(self, launch: Launch, answer: Callable[..., None]) -> None:
        """Prepare; nothing is written yet.

        Args:
            launch: what is to be recorded.
            answer: tells the front something.
        """
        self._program = PurePath(launch.options.command[0]).name or "command"
        self.name = launch.options.name or self._program
        self.lane = _lane(self._program if launch.options.agent == "auto" else launch.options.agent)
        self._launch = launch
        self._answer = answer
        self._streams: dict[str, Stream] = {}
        self._row: int | None = None
        self._began = _clock.now()
        self._stopped_by: signal.Signals | None = None
        self._left_running = False
        self._ended: Ended | None = None

    def record(self, told: Iterable[list[str]]) -> None:
        """Record everything from the first word to the last.

        Args:
            told: the front's messages.

        Raises:
            TracerError: the session cannot be begun or ended where it is kept.
            SystemExit: this process was told to end the run.
        """
        options = self._launch.options
        if options.state_root:
            os.environ["AGENT_WORKFLOW_STATE_ROOT"] = options.state_root
        config, problems = settle(options.db, Path.cwd())
        for problem in problems:
            where = "" if str(config.path) in problem else f"{config.path}: "
            say(f"{where}{problem}; the command runs all the same")
        run = ensure(self._without_roster(config), self._launch.adw_id, workflow=self.name, program=self._program)
        if options.is_verbose:
            say(f"session {run.adw_id} is kept in {run.files.directory}, its rows in {config.db}")
        try:
            run.set_request(options.request or shlex.join(options.command))
            with contextlib.suppress(AgentError), run.phase(self._params()) as phase:
                phase.note_answer()  # nobody parses a reply here: success is the command's own
                with self._open_streams(run):
                    self._follow(phase, told)
            run.finish()
        except BaseException as error:
            run.close_early(run.way_out.reason or str(error) or type(error).__name__)
            if not (self._stopped_by and isinstance(error, SystemExit)):
                raise

    def _without_roster(self, config: Config) -> Config:
        """Leave out the agents that the repository's workflows may call: this command is none of them."""
        kind = self._launch.options.agent
        agents = {} if kind == "auto" else {self.lane: AgentConfig(self.lane, kind, "")}
        return replace(config, agents=agents)

    def _params(self) -> PhaseParams:
        return PhaseParams(name=_PHASE, kind="agent", owner=self.lane, description=f"Run {self.name} and record it")

    @contextlib.contextmanager
    def _open_streams(self, run: Run) -> Iterator[None]:
        folder = run.files.agent(self.lane)
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as files:
            for name, spill in self._launch.spills.items():
                file = files.enter_context((folder / _FILES[name]).open("ab", buffering=0))
                self._streams[name] = Stream(spill, file, run.tracer.redactor)
            yield

    def _follow(self, phase: Phase, told: Iterable[list[str]]) -> None:
        """Take in message after message.

        Raises:
            AgentError: what was told amounts to that.
            SystemExit: the front was told to stop.
        """
        agent = Agent(phase, self.lane, self._launch.options)
        for kind, *words in told:
            if kind == "start":
                self._began = _clock.stamp(float(words[1]))
                self._date_back(phase)
                self._note_process(phase, int(words[0]))
                agent.began(self._began)
            elif kind == "refused":
                raise AgentFailed(f"cannot start {self._launch.options.command[0]}: {os.strerror(int(words[0]))}")
            elif kind == "data":
                self._read(agent, words[0], int(words[1]), _clock.stamp(float(words[2])))
            elif kind in ("done", "killed"):
                self._finish(phase, agent, was_killed=kind == "killed")
            else:
                self._note(kind, words)

    def _date_back(self, phase: Phase) -> None:
        """Let session and phase begin with the command, which ran before there was anything to write."""
        phase.run.tracer.row("sessions", started_at=self._began)
        phase.run.tracer.row("phases", phase_id=phase.id, started_at=self._began)

    def _note(self, kind: str, words: list[str]) -> None:
        if kind == "base":
            self._streams[words[0]].base = int(words[1])
        elif kind == "gap":
            self._streams[words[0]].lost = int(words[1])
        elif kind == "stop":
            self._stopped_by = signal.Signals(int(words[0]))
        elif kind == "left":
            self._left_running = True
        elif kind == "end":
            self._ended = Ended.told(words)

    def _read(self, agent: Agent, name: str, total: int, at: str) -> None:
        stream = self._streams[name]
        for line in stream.advance(total):
            if name == "stdout" and self._launch.is_stream:
                agent.read(line, at)
        if stream.wants_room:
            self._answer("read", name, total)

    def _finish(self, phase: Phase, agent: Agent, *, was_killed: bool) -> None:
        """Write the end of the command.

        Raises:
            AgentError: it did not end well.
            SystemExit: the front was told to stop.
        """
        at = self._ended.at if self._ended else _clock.now()
        self._read_rest(agent, at)
        if self._left_running:
            phase.event("log", "left_running", {"agent": self.lane}, parent_id=agent.start_id)
        fault = agent.ended(self._ended, self._figures(), at)
        if self._row is not None:
            phase.run.tracer.row("processes", id=self._row, ended_at=at)
        if was_killed:
            phase.run.way_out.reason, self._stopped_by = FRONT_WAS_KILLED, signal.SIGKILL
        elif self._stopped_by:  # as if a workflow had got the signal
            phase.run.way_out.reason = self._stopped_by.name
        if self._stopped_by:
            raise SystemExit(128 + self._stopped_by)
        if phase.run.is_asked_to_end:  # though the command may have ended well when it was told to end
            raise AgentFailed(ENDED_BY_KILL)
        if fault is not None:  # says more than the exit code
            raise fault
        if self._ended is not None and self._ended.fault:
            raise AgentFailed(self._ended.fault)

    def _read_rest(self, agent: Agent, at: str) -> None:
        for name, stream in self._streams.items():
            for line in stream.rest():
                if name == "stdout" and self._launch.is_stream:
                    agent.read(line, at)
            if stream.fault:
                say(f"{stream.fault}; part of the command's output is not stored")
            if stream.lost:
                say(f"there was no room for {stream.lost} bytes of {name}, which are not recorded")

    def _figures(self) -> dict[str, object]:
        figures: dict[str, object] = {
            f"{name}_bytes": stream.offset + stream.lost for name, stream in self._streams.items()
        }
        lost = sum(stream.lost for stream in self._streams.values())
        if lost:
            figures["unrecorded_bytes"] = lost
        if self._ended is not None:
            figures |= self._ended.figures(self._began)
        return figures

    def _note_process(self, phase: Phase, pid: int) -> None:
        living = find(pid)
        try:
            self._row = phase.run.tracer.numbered_row(
                "processes",
                kind="agent",
                name=self.lane,
                pid=pid,
                command=recorded_command(self._launch.options.command),
                started_at=self._began,
                ended_at=None,
                start_marker=living.start_marker if living else None,
            )
        except TraceWriteFailed:
            self._row = None  # told by the tracer; the command goes on


def _lane(name: str) -> str:
    lane = _LANE.sub("_", name).lstrip("_.-")[:64]
    return lane if lane and lane not in _TAKEN else "command"
