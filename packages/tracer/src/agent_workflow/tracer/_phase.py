"""One phase of a run: entered, logged to, left; success must be earned."""

from types import TracebackType
from typing import TYPE_CHECKING

from agent_workflow.tracer import _clock
from agent_workflow.tracer._closing import end_phase
from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._params import AgentCall, PhaseParams

if TYPE_CHECKING:
    from agent_workflow.tracer._envelopes import EnvelopeBase
    from agent_workflow.tracer._run import Run


class Phase:
    """The block of a ``with run.phase(...)``.

    Attributes:
        id: ``<adw_id>_<seq>_<name>``.
        params: what the workflow said about it.
        attempt: how often an agent was asked again so far.
        start_id: the event that began it; what happens inside is nested in it.
    """

    def __init__(self, run: "Run", params: PhaseParams) -> None:
        self.run = run
        self.params = params
        self.id = ""
        self.seq = 0
        self.attempt = 0
        self.start_id = ""
        self.sends = 0
        self._was_answered = False
        self._breach = ""
        self._call_error: TracerError | None = None

    def __enter__(self) -> "Phase":
        self.seq, self.id = self.run.open_phase(self.params)
        self.start_id = self.run.tracer.event(
            "phase_start",
            self.params.name,
            {"kind": self.params.kind, "owner": self.params.owner, "description": self.params.description},
            phase_id=self.id,
        )
        self.run.publisher.phase_began(self.id, self.params.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reason = self._reason(error)
        if reason is not None:
            self.run.tracer.event(
                "error", self.params.name, {"error": reason}, phase_id=self.id, parent_id=self.start_id
            )
        status = "success" if reason is None else "fail"
        end_phase(self.run.tracer, self.id, self.params.name, status, reason, self.start_id)
        category = None if reason is None else self._category(error)
        self.run.publisher.phase_ended(self.id, self.params.name, status, category)

    def log(self, message: str | None = None, /, **fields: object) -> str:
        """Record anything.

        In a phase of kind ``engineer``, ``input`` is what the session is asked to do.

        Returns:
            The event's id.

        Raises:
            TraceWriteFailed: it could not be recorded.
        """
        payload = dict(fields) if message is None else {"message": message, **fields}
        if self.params.kind == "engineer" and "input" in fields:
            self.run.set_request(str(fields["input"]))
        return self.event("log", self.params.name, payload)

    def call(self, call: AgentCall) -> "EnvelopeBase":
        """Ask an agent, again within the phase's retries, until its reply parses and all gates are green.

        Returns:
            The envelope, of the type that the call asks for.

        Raises:
            ProviderError: the model's provider refused; it was not asked again.
            AgentFailed, InvalidReply, GatesFailed, GateRaised, PermissionBreach: as their names say.
            ConfigError: the configuration has no such agent.
        """
        from agent_workflow.tracer._exchange import Exchange  # brings pydantic, which code phases never need

        try:
            envelope = Exchange(self, call).run()
        except TracerError as error:
            self._call_error = error  # the workflow may catch it and leave the phase cleanly
            raise
        self.note_answer()
        return envelope

    def event(self, type: str, name: str, payload: object, *, parent_id: str = "") -> str:  # noqa: A002 - the column's name
        """Record an event of this phase."""
        return self.run.tracer.event(type, name, payload, phase_id=self.id, parent_id=parent_id or self.start_id)

    def note_retry(self) -> None:
        """An agent is asked again."""
        self.attempt += 1
        self.run.tracer.row("phases", phase_id=self.id, attempt=self.attempt)

    def note_answer(self) -> None:
        """An agent has done what this phase is for; without that, a phase of kind ``agent`` cannot succeed."""
        self._was_answered = True

    def note_breach(self, what: str) -> None:
        """An agent wrote where it may not; the phase cannot succeed any more."""
        self._breach = what

    def _category(self, error: BaseException | None) -> str:
        from agent_workflow.tracer.evidence._outcome import category_of  # only for phases that fail

        was_signalled = isinstance(error, SystemExit) and bool(self.run.way_out.reason)
        was_signalled = was_signalled or self.run.is_asked_to_end
        if self._breach and not was_signalled:
            return "permission_breach"
        return category_of(error or self._call_error, was_signalled=was_signalled)

    def _reason(self, error: BaseException | None) -> str | None:
        if isinstance(error, SystemExit):
            return self.run.way_out.reason or f"exit {error.code}"
        if error is not None:
            return str(error) or type(error).__name__
        if self._breach:
            return self._breach
        if self.params.kind == "agent" and not self._was_answered:
            return "no agent's reply was accepted in this phase"
        return None


def opening_row(params: PhaseParams, phase_id: str, seq: int) -> dict[str, object]:
    """Write the row of a phase that is being entered."""
    return {
        "phase_id": phase_id,
        "seq": seq,
        "name": params.name,
        "kind": params.kind,
        "owner": params.owner,
        "description": params.description,
        "status": "running",
        "attempt": 0,
        "retries": params.retries,
        "error": None,
        "started_at": _clock.now(),
        "ended_at": None,
    }
