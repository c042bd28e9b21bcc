"""One ``ph.call``: asked, answered, looked at, asked again; and what all of it cost."""

import os
import secrets
from typing import TYPE_CHECKING, Any

from agent_workflow.tracer import _clock, _ids
from agent_workflow.tracer._account import account
from agent_workflow.tracer._envelopes import EnvelopeBase, GenericOutput
from agent_workflow.tracer._errors import AgentFailed, GatesFailed, InvalidReply, ProviderError
from agent_workflow.tracer._files import write_atomically
from agent_workflow.tracer._inspection import Inspection
from agent_workflow.tracer._json import encode
from agent_workflow.tracer._params import AgentCall
from agent_workflow.tracer._prompts import (
    SavedPrompt,
    correction,
    output_instructions,
    previous_envelope,
    read_template,
    render,
    save_prompt,
)
from agent_workflow.tracer._reply import UnreadableReply, parse_reply
from agent_workflow.tracer._sending import Sending
from agent_workflow.tracer._tracer import say
from agent_workflow.tracer.agents import Send, SendOutcome, coding_agent

if TYPE_CHECKING:
    from agent_workflow.tracer._phase import Phase

_RAW_CHARACTERS = 2_000
_STDERR_BYTES = 2_000


class Exchange:
    """Carries one call through all its sends."""

    def __init__(self, phase: "Phase", call: AgentCall) -> None:
        """Look up the agent.

        Raises:
            ConfigError: the configuration has no such agent, or nobody knows its kind.
        """
        self.phase = phase
        self.call = call
        self.output_type: type[EnvelopeBase] = call.output_type or GenericOutput
        self.agent = phase.run.agent(call.agent or phase.params.owner)
        self.adapter = coding_agent(self.agent.coding_agent)
        self.folder = phase.run.files.agent(self.agent.name)
        self.outcomes: list[SendOutcome] = []
        self.first_output_at: str | None = None
        self._find_conversation()
        self.start_id = ""

    def run(self) -> EnvelopeBase:
        """Ask until the reply is good or the retries are used up; the spend is recorded either way."""
        self._begin()
        try:
            envelope = self._converse()
            handed = {"artifacts": envelope.artifacts, "summary": envelope.summary}
            self.phase.event("handoff", self.agent.name, handed, parent_id=self.start_id)
        finally:
            self._end()
        return envelope

    def _find_conversation(self) -> None:
        """Find the coding agent's session to continue; another model means a new one."""
        known = self.phase.run.agent_map().get(self.agent.name)
        wanted = (self.agent.model, self.agent.coding_agent)
        found = known if isinstance(known, dict) else {}
        is_same = (found.get("model"), found.get("coding_agent")) == wanted
        if not is_same or not isinstance(found.get("session_id"), str):
            found = {"session_id": f"sssf-{self.phase.run.adw_id}-{self.agent.name}-{secrets.token_hex(2)}"}
        counted = found.get("counted")
        self.session_id: str = found["session_id"]
        self.continues = found.get("continues") is True
        self.counted: dict[str, int] = counted if isinstance(counted, dict) else {}

    def _begin(self) -> None:
        run, agent = self.phase.run, self.agent
        entry = {"session_id": self.session_id, "model": agent.model, "coding_agent": agent.coding_agent}
        self.folder.mkdir(parents=True, exist_ok=True)
        is_new = run.agent_map().get(agent.name, {}).get("session_id") != self.session_id
        self._save_conversation()
        moment = _clock.now()
        row: dict[str, Any] = {"agent": agent.name, **entry, "color": agent.color, "last_used_at": moment}
        window = self.adapter.context_window(agent.model)
        if is_new:
            row |= {"created_at": moment, "context_tokens": None, "context_window": window}
        elif window is not None:
            row["context_window"] = window
        run.tracer.row("agent_sessions", **row)
        started = {
            **entry,
            "thinking": agent.thinking,
            "color": agent.color,
            "purpose": agent.purpose,
            "tools": agent.tools,
            "harness_engineering": agent.harness_engineering,
        }
        self.start_id = self.phase.event("agent_start", agent.name, started)

    def _converse(self) -> EnvelopeBase:
        inspection = Inspection(self.phase, self.agent)
        prompt = self._first_prompt()
        attempt = 0
        while True:
            attempt += 1
            outcome = self._send(prompt)
            inspection.after_send()
            self._raise_unless_answered(outcome)
            envelope, faults = self._read(outcome, attempt)
            if envelope is not None:
                faults = inspection.ask_gates(tuple(self.call.gates), envelope, attempt)
                if not faults:
                    self._keep(envelope, attempt)
                    return envelope
            if self.phase.attempt >= self.phase.params.retries:
                kind, what = (
                    (InvalidReply, "gave no valid reply") if envelope is None else (GatesFailed, "failed gates")
                )
                listed = "\n".join(f"- {fault}" for fault in faults)
                raise kind(f"{self.agent.name} {what} after {attempt} attempt(s):\n{listed}")
            self.phase.note_retry()
            asked = {"agent": self.agent.name, "retry": self.phase.attempt, "of": self.phase.params.retries}
            self.phase.event("log", "asked_again", {**asked, "faults": faults}, parent_id=self.start_id)
            prompt = correction(faults)

    def _first_prompt(self) -> str:
        values = self._values()
        template = read_template(self.agent.user) if self.agent.user else "{{prompt}}"
        text = render(template, values)
        if self.agent.user is None and self.call.previous is not None:
            text += f"\n\nThe agent before you handed over:\n{values['previous_envelope']}"
        return text if "{{output_schema}}" in template.replace(" ", "") else f"{text}\n\n{values['output_schema']}"

    def _values(self) -> dict[str, Any]:
        run = self.phase.run
        return {
            "prompt": self.call.prompt,
            "previous_envelope": previous_envelope(self.call.previous),
            "output_schema": output_instructions(self.output_type),
            "adw_id": run.adw_id,
            "context_handoff": str(run.handoff),
            **self.call.variables,
        }

    def _send(self, prompt: str) -> SendOutcome:
        self.phase.sends += 1
        system = render(read_template(self.agent.system), self._values()) if self.agent.system else ""
        label = f"{self.phase.seq:02d}_{self.phase.params.name}.{self.phase.sends}"
        saved = save_prompt(self.folder / "prompts", label, system, prompt, self.phase.run.tracer.redactor)
        send = self._as_send(prompt, system, saved)
        sending = Sending(self.phase, self.agent.name, self.start_id, self.adapter.reader(send))
        try:
            return sending.run(self.adapter.launch(send), self.call.timeout_seconds)
        finally:
            outcome = sending.outcome()
            self.outcomes.append(outcome)
            self._continue(outcome)
            self.first_output_at = self.first_output_at or sending.first_output_at

    def _continue(self, outcome: SendOutcome) -> None:
        """Go on under the id that the agent gave the conversation, if there is one to go on with."""
        if not outcome.resumable or not outcome.session_id:
            return
        if (self.session_id, self.continues, self.counted) != (outcome.session_id, True, outcome.counted):
            self.session_id, self.continues, self.counted = outcome.session_id, True, dict(outcome.counted)
            self._save_conversation()

    def _save_conversation(self) -> None:
        entry: dict[str, Any] = {
            "session_id": self.session_id,
            "model": self.agent.model,
            "coding_agent": self.agent.coding_agent,
        }
        if self.continues:
            entry["continues"] = True
        if self.counted:
            entry["counted"] = self.counted
        self.phase.run.save_agent(self.agent.name, entry)

    def _as_send(self, prompt: str, system: str, saved: SavedPrompt) -> Send:
        return Send(
            prompt=prompt,
            system=system,
            prompt_file=saved.user,
            system_file=saved.system,
            model=self.agent.model,
            thinking=self.agent.thinking,
            session_id=self.session_id,
            session_dir=self.folder / f"{self.adapter.name}_sessions",
            tools=self.agent.tools,
            harness_engineering=self.agent.harness_engineering,
            root=self.phase.run.config.root,
            continues=self.continues,
            counted=self.counted,
            stderr_file=self.folder / "stderr.log",
        )

    def _raise_unless_answered(self, outcome: SendOutcome) -> None:
        if outcome.verdict == "provider_error":
            raise ProviderError(f"the provider refused: {outcome.error}")
        if outcome.verdict in ("aborted", "failed", "incomplete"):
            stderr = self._last_words()
            raise AgentFailed(f"{self.agent.name}: {outcome.error}" + (f"\n{stderr}" if stderr else ""))

    def _last_words(self) -> str:
        try:
            with (self.folder / "stderr.log").open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - _STDERR_BYTES))
                return stream.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def _read(self, outcome: SendOutcome, attempt: int) -> tuple[EnvelopeBase | None, list[str]]:
        """Read the reply; one that does not parse is kept as an invalid envelope."""
        try:
            if outcome.verdict == "cut_off":
                raise UnreadableReply(outcome.error)
            return parse_reply(outcome.text, self.output_type), []
        except UnreadableReply as error:
            self._envelope_row(encode({"raw": outcome.text[-_RAW_CHARACTERS:]}), attempt, valid=False)
            return None, [str(error)]

    def _keep(self, envelope: EnvelopeBase, attempt: int) -> None:
        payload = envelope.model_dump_json(indent=2)
        self._envelope_row(payload, attempt, valid=True)
        head = {
            "agent_name": self.agent.name,
            "purpose": self.agent.purpose,
            "output_type": self.output_type.__name__,
            "attempt": attempt,
        }
        text = self.phase.run.tracer.redactor.payload({**head, **envelope.model_dump(mode="json")})
        try:
            write_atomically(self.folder / "envelope.json", text.encode())
        except OSError as error:
            say(f"{self.folder / 'envelope.json'}: cannot be written: {error.strerror}")

    def _envelope_row(self, payload: str, attempt: int, *, valid: bool) -> None:
        self.phase.run.tracer.row(
            "envelopes",
            envelope_id=_ids.new_envelope_id(),
            phase_id=self.phase.id,
            agent=self.agent.name,
            output_type=self.output_type.__name__,
            payload_json=payload,
            valid=int(valid),
            attempt=attempt,
            created_at=_clock.now(),
        )

    def _end(self) -> None:
        """Record what the call cost, also when it failed."""
        run = self.phase.run
        payload, tokens, context = account(self.outcomes)
        told = next((outcome.context_window for outcome in reversed(self.outcomes) if outcome.context_window), None)
        window = told or self.adapter.context_window(self.agent.model)
        payload |= {"context_window": window, "session_id": self.session_id, "agent": self.agent.name}
        payload["first_output_at"] = self.first_output_at
        run.tracer.event(
            "agent_end", self.agent.name, payload, phase_id=self.phase.id, parent_id=self.start_id, tokens=tokens
        )
        row: dict[str, Any] = {"context_tokens": context, "session_id": self.session_id, "last_used_at": _clock.now()}
        if told:
            row["context_window"] = told
        run.tracer.row("agent_sessions", agent=self.agent.name, **row)
        run.update_spend()
