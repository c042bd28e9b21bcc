"""Which agent it is, and what its stream says: told by its first lines, then read as in a workflow's call."""

import os
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._account import account
from agent_workflow.tracer._errors import AgentError, AgentFailed, ProviderError, TraceWriteFailed
from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer._phase import Phase
from agent_workflow.tracer._sending import Sending
from agent_workflow.tracer._tracer import say
from agent_workflow.tracer.agents import Send, SendOutcome, coding_agent, recognise
from agent_workflow.tracer.running._ended import Ended
from agent_workflow.tracer.running._options import Options

_MOST_LINES: Final = 200
_MOST_BYTES: Final = 1 << 20
_KILLED: Final = -9


class Agent:
    """Reads the stream of a command that may be an agent's.

    Attributes:
        start_id: its ``agent_start``, empty before that is written.
    """

    def __init__(self, phase: Phase, lane: str, options: Options) -> None:
        """Prepare to read.

        Args:
            phase: that events belong to.
            lane: what the trace calls the agent.
            options: of the call; they may name its kind.
        """
        self.start_id = ""
        self._phase = phase
        self._lane = lane
        self._options = options
        self._named = "" if options.agent == "auto" else options.agent
        self._kind = self._named
        self._sending: Sending | None = None
        self._is_guessing = True
        self._first: list[tuple[bytes, str]] = []
        self._first_bytes = 0
        self._began = _clock.now()

    def began(self, at: str) -> None:
        """Note that the command runs; an agent that was named begins."""
        self._began = at
        if self._named:
            self._write_start()

    def read(self, line: bytes, at: str) -> None:
        """Take in a line of stdout.

        Args:
            line: without its newline.
            at: when it came.
        """
        if self._is_guessing:
            self._guess(line, at)
        elif self._sending is not None:
            self._take(self._sending, line, at)

    def ended(self, ended: Ended | None, figures: dict[str, object], at: str) -> AgentError | None:
        """Write what the agent's work came to.

        Args:
            ended: the end of its process, ``None`` when nobody saw it.
            figures: what the recorder measured.
            at: when.

        Returns:
            Why the agent did not succeed though its process did, ``None`` when all is well.
        """
        self._write_start()
        outcome = self._outcome(_KILLED if ended is None else ended.code)
        payload: dict[str, Any] = {"cost": None, "tokens": None, "usage": None, "agent": self._lane}
        tokens = None
        if outcome is not None:
            summed, tokens, context = account([outcome])
            payload |= {**summed, "context_window": outcome.context_window, "session_id": outcome.session_id}
            self._write_row(outcome, context, at)
        run = self._phase.run
        run.tracer.event(
            "agent_end",
            self._lane,
            {**payload, **figures},
            phase_id=self._phase.id,
            parent_id=self.start_id,
            tokens=tokens,
        )
        if self._sending is not None and self._sending.fault is not None:
            raise self._sending.fault
        if outcome is None or outcome.verdict == "answered":
            return None
        kind = ProviderError if outcome.verdict == "provider_error" else AgentFailed
        return kind(outcome.error or outcome.verdict)

    def _guess(self, line: bytes, at: str) -> None:
        self._first.append((line, at))
        self._first_bytes += len(line)
        kind = recognise(line)
        if kind is not None and self._named in ("", kind):
            self._kind = kind
            self._write_start()
            self._sending = Sending(self._phase, self._lane, self.start_id, coding_agent(kind).reader(self._send(line)))
            for each in self._first:
                if self._sending is not None:
                    self._take(self._sending, *each)
        if kind is not None or len(self._first) >= _MOST_LINES or self._first_bytes > _MOST_BYTES:
            self._is_guessing = False
            self._first.clear()

    def _take(self, sending: Sending, line: bytes, at: str) -> None:
        try:
            for seen in sending.reader.read(line, at):
                sending.record(seen)
        except Exception as error:  # noqa: BLE001 - a fault of an adapter costs the account, never the recording
            say(f"the stream of {self._kind} is not understood: {type(error).__name__}: {error}")
            self._sending = None

    def _outcome(self, code: int) -> SendOutcome | None:
        sending = self._sending
        if sending is None:
            return None
        try:
            sending.exit_code = code
            for seen in sending.reader.complete():
                sending.record(seen)
            outcome = sending.outcome()
            for call in outcome.interrupted:
                sending.record(call)
        except Exception as error:  # noqa: BLE001 - as above
            say(f"the stream of {self._kind} is not understood: {type(error).__name__}: {error}")
            return None
        return outcome

    def _write_start(self) -> None:
        if self.start_id:
            return
        tracer = self._phase.run.tracer
        about = {"coding_agent": self._kind or None, "command": self._options.command[:1], "agent": self._lane}
        try:
            self.start_id = tracer.event(
                "agent_start",
                self._lane,
                about,
                phase_id=self._phase.id,
                parent_id=self._phase.start_id,
                started_at=self._began,
            )
        except TraceWriteFailed:
            return  # told by the tracer; the command goes on

    def _write_row(self, outcome: SendOutcome, context: int | None, at: str) -> None:
        self._phase.run.tracer.row(
            "agent_sessions",
            agent=self._lane,
            session_id=outcome.session_id,
            model=outcome.model,
            coding_agent=self._kind,
            color=None,
            context_window=outcome.context_window,
            context_tokens=context,
            created_at=self._began,
            last_used_at=at,
        )

    def _send(self, line: bytes) -> Send:
        """Describe to an adapter what somebody else has sent, as far as the command and the first record tell it."""
        command = self._options.command
        provider, model = _value(command, "--provider"), _value(command, "--model")
        continues = "resume" in command
        thread = decode_record(line).get("thread_id") if continues else None
        nothing = Path(os.devnull)
        return Send(
            prompt="",
            system="",
            prompt_file=nothing,
            system_file=nothing,
            model=f"{provider}/{model}" if provider else model,
            thinking=None,
            session_id=thread if isinstance(thread, str) else "",
            session_dir=nothing,
            tools=None,
            harness_engineering=(),
            root=self._phase.run.config.root,
            continues=continues,
            stderr_file=self._phase.run.files.agent(self._lane) / "stderr.log",
        )


def _value(command: list[str], option: str) -> str:
    """Return what a command line gives an option, empty when it gives nothing."""
    for number, word in enumerate(command):
        if word == option and number + 1 < len(command):
            return command[number + 1]
        if word.startswith(option + "="):
            return word.removeprefix(option + "=")
    return ""
