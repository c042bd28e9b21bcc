"""A run: one workflow process at work on one session."""

import json
import os
from pathlib import Path
from typing import Any

from agent_workflow.tracer import _clock
from agent_workflow.tracer._closing import close_session, is_at_work, process_ends
from agent_workflow.tracer._config import AgentConfig, Config
from agent_workflow.tracer._errors import ConfigError, TracerError
from agent_workflow.tracer._files import SessionFiles, write_atomically
from agent_workflow.tracer._json import clip
from agent_workflow.tracer._kill_request import ENDED_BY_KILL, was_asked_to_end
from agent_workflow.tracer._params import PhaseParams
from agent_workflow.tracer._phase import Phase, opening_row
from agent_workflow.tracer._replay import StateFollower, replay_state, session_lock
from agent_workflow.tracer._signals import WayOut
from agent_workflow.tracer._spend import recorded_spend, refused_since
from agent_workflow.tracer._tracer import Tracer, say
from agent_workflow.tracer._usage import money
from agent_workflow.tracer._watching import Watch
from agent_workflow.tracer.evidence._publisher import Publisher

_REQUEST_CHARACTERS = 20_000


class Run:
    """What ``ensure`` returns; a workflow enters phases on it and finishes it.

    Attributes:
        adw_id: the session.
        config: as it was loaded.
        engineer: who started the workflow.
        tracer: records events beyond what phases record.
        files: where the session's files are.
        watch: has agents ended if this process is killed.
        publisher: writes what the state root holds of this run.
    """

    def __init__(self, config: Config, tracer: Tracer, engineer: str, process_row: int) -> None:
        """Take over an open session; workflows call ``ensure`` instead."""
        self.adw_id = tracer.adw_id
        self.config = config
        self.engineer = engineer
        self.tracer = tracer
        self.watch = Watch(self.adw_id)
        self.way_out = WayOut(tracer.shield, self._close)
        self.publisher = Publisher(config, tracer)
        self._process_row = process_row
        self._exit_code: int | None = None
        self._began = _clock.now()
        self._own_phases: set[str] = set()
        self._followed = StateFollower(self.files)

    @property
    def files(self) -> SessionFiles:
        """The session's directory."""
        return self.tracer.files

    @property
    def is_asked_to_end(self) -> bool:
        """Whether ``trace kill`` is ending this run: whatever its agents do then is not their own end."""
        return was_asked_to_end(self.files, self._began)

    @property
    def handoff(self) -> Path:
        """The folder in which agents leave files for each other."""
        return self.files.handoff

    def phase(self, params: PhaseParams) -> Phase:
        """Return a phase, to be entered with ``with``."""
        return Phase(self, params)

    def agent(self, name: str) -> AgentConfig:
        """Return an agent of the configuration.

        Raises:
            ConfigError: there is none of this name.
        """
        if name not in self.config.agents:
            known = ", ".join(sorted(self.config.agents)) or "none"
            raise ConfigError(f"there is no agent {name!r}", path=self.config.path, hint=f"known agents: {known}")
        return self.config.agents[name]

    def finish(self, *, accepted: bool = True, reason: str = "") -> int:
        """End the session: success if it is accepted and every phase of it succeeded.

        Args:
            accepted: the workflow's own judgement.
            reason: why not, shown to the reader.

        Returns:
            The exit code: 0 for success, 1 otherwise. Finishing twice returns it again.
        """
        if self._exit_code is not None:
            return self._exit_code
        with session_lock(self.files), self.tracer.shield:  # a signal that comes now must not leave half an end
            state = replay_state(self.files)
            others = is_at_work(state, besides=os.getpid())
            phases = [row for row in state.of("phases") if not others or row["phase_id"] in self._own_phases]
            failed = [str(row.get("name")) for row in phases if row.get("status") != "success"]
            if not accepted:
                last = str(phases[-1]["phase_id"]) if phases else ""
                self.tracer.event("error", "not_accepted", {"reason": reason}, phase_id=last)
            is_killed = self.is_asked_to_end
            if is_killed:
                self.tracer.event("error", "workflow", {"error": ENDED_BY_KILL})
            is_good = accepted and not failed and not is_killed
            is_good = is_good and (others or not refused_since(self.files, self._began))
            self.update_spend()
            ends = process_ends(state, self._process_row)
            if not others:  # else the last one at work in this session says how it ended
                end = {"status": "success" if is_good else "fail", "ended_at": _clock.now()}
                ends.insert(0, ("sessions", end))
            self.tracer.rows(*ends)
            self._end_publishing(others=others)
        if failed:
            say(f"session {self.adw_id} failed in {', '.join(failed)}")
        self._exit_code = 0 if is_good else 1
        self._release()
        return self._exit_code

    def open_phase(self, params: PhaseParams) -> tuple[int, str]:
        """Give a phase its place in the sequence and record that it runs.

        Returns:
            The sequence number and the id.
        """
        with session_lock(self.files):
            taken = [row.get("seq") or 0 for row in self._followed.read().of("phases")]
            seq = max(taken, default=0) + 1
            phase_id = f"{self.adw_id}_{seq:02d}_{params.name}"
            self.tracer.row("phases", **opening_row(params, phase_id, seq))
            self._own_phases.add(phase_id)
        return seq, phase_id

    def set_request(self, text: str) -> None:
        """Record what the session was asked to do; the first request stays."""
        if not replay_state(self.files).session().get("request"):
            request = clip(text, _REQUEST_CHARACTERS)
            self.tracer.row("sessions", request=request)
            self.publisher.note_request(request)

    def update_spend(self) -> None:
        """Bring the session's totals up to date with its ``agent_end`` events."""
        tokens, cost = recorded_spend(self.files)
        self.tracer.row("sessions", total_tokens=tokens, total_cost=money(cost))

    def agent_map(self) -> dict[str, Any]:
        """Read which conversation each agent continues; a damaged map starts new ones."""
        try:
            value = json.loads(self.files.agent_map.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def save_agent(self, name: str, entry: dict[str, Any]) -> None:
        """Remember which conversation an agent continues; agents side by side share the file."""
        try:
            with session_lock(self.files):
                data = json.dumps({**self.agent_map(), name: entry}, indent=2).encode()
                write_atomically(self.files.agent_map, data)
        except OSError as error:
            say(f"{self.files.agent_map}: cannot be written: {error.strerror}")

    def close_early(self, reason: str) -> None:
        """End the session as failed before its workflow could begin."""
        self._close(reason)

    def _end_publishing(self, *, others: bool) -> None:
        if others:
            self.publisher.leave()
        else:
            self.publisher.end()

    def _close(self, reason: str) -> None:
        """End the session on the way out of the process, whatever state the disk is in."""
        if self._exit_code is not None:
            return
        self._exit_code = 1
        try:
            self.tracer.reserve.release()
            close_session(self.tracer, reason, name="workflow", own_process=self._process_row)
            with session_lock(self.files):
                self._end_publishing(others=is_at_work(replay_state(self.files), besides=os.getpid()))
        except (TracerError, OSError) as error:
            say(f"session {self.adw_id} could not be closed: {error}")
        finally:
            self._release()

    def _release(self) -> None:
        self.tracer.reserve.release()
        self.way_out.remove()
        self.watch.end()
        self.tracer.sync()
        self.tracer.close()
