"""Looking at what an agent did: the tree before and after, its rights, and the gates."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_workflow.tracer import _clock
from agent_workflow.tracer._config import AgentConfig
from agent_workflow.tracer._errors import GateRaised, PermissionBreach
from agent_workflow.tracer._gates import Check, Gate, GateContext, GateReport
from agent_workflow.tracer._json import encode
from agent_workflow.tracer._worktree import Change, compare, forbidden, snapshot

if TYPE_CHECKING:
    from agent_workflow.tracer._envelopes import EnvelopeBase
    from agent_workflow.tracer._phase import Phase

_PATHS_SHOWN = 200


class Inspection:
    """Follows the repository's tree through one call, so that only the agent's own changes are laid to it."""

    def __init__(self, phase: "Phase", agent: AgentConfig) -> None:
        self.changes: dict[str, Change] = {}
        self._phase = phase
        self._agent = agent
        self._before = self._snapshot()

    def after_send(self) -> None:
        """Take in what the agent has changed since the last look.

        Raises:
            PermissionBreach: it had no right to; the phase cannot succeed any more.
        """
        fresh = compare(self._before, self._snapshot())
        self._merge(fresh)
        if fresh:
            paths = list(fresh)[:_PATHS_SHOWN]
            touched = {"agent": self._agent.name, "paths": paths, "count": len(fresh)}
            self._phase.event("log", "paths_touched", touched)
        breached = forbidden(fresh, self._agent.writes, self._agent.protected_files)
        if breached:
            self._breach(breached)

    def ask_gates(self, gates: "tuple[Gate, ...]", envelope: "EnvelopeBase", attempt: int) -> list[str]:
        """Ask every gate and record what each looked at.

        Returns:
            All violations.

        Raises:
            GateRaised: a gate raised; that is recorded as its failure.
        """
        run = self._phase.run
        context = GateContext(envelope, run.config.root, dict(self.changes), run.handoff, run.config.tests)
        violations: list[str] = []
        for gate in gates:
            name = getattr(gate, "__name__", type(gate).__name__)
            try:
                report = gate(context)
                if not isinstance(report, GateReport):
                    raise TypeError(f"a gate must return a GateReport, not {type(report).__name__}")
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                self._record(GateReport(name, [Check(name, False, f"the gate itself raised {reason}")]), attempt)
                raise GateRaised(f"gate {name} raised {reason}") from error
            self._record(report, attempt)
            violations.extend(report.violations)
        if gates:
            self._before = self._snapshot()  # what a gate leaves behind (caches of a test run) is not the agent's
        return violations

    def _snapshot(self) -> Mapping[str, tuple[int, int, int, int, int]]:
        config = self._phase.run.config
        return snapshot(
            config.root,
            [config.data_dir, config.db, *(config.db.with_name(config.db.name + end) for end in ("-wal", "-shm"))],
        )

    def _merge(self, fresh: Mapping[str, Change]) -> None:
        for path, change in fresh.items():
            earlier = self.changes.get(path)
            if earlier == "created" and change == "deleted":
                del self.changes[path]
            elif earlier == "created":
                continue
            else:
                self.changes[path] = "modified" if (earlier, change) == ("deleted", "created") else change

    def _breach(self, paths: list[str]) -> None:
        listed = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
        what = f"{self._agent.name} changed files it may not write: {listed}"
        self._phase.note_breach(what)
        details = {
            "agent": self._agent.name,
            "error": what,
            "paths": paths[:_PATHS_SHOWN],
            "writes": self._agent.writes,
            "protected_files": self._agent.protected_files,
        }
        self._phase.event("error", "permission_breach", details)
        raise PermissionBreach(what)

    def _record(self, report: GateReport, attempt: int) -> None:
        checks = [{"item": check.item, "ok": check.ok, "note": check.note} for check in report.checks]
        violations = report.violations
        passed = report.verdict != "failed"
        self._phase.run.tracer.numbered_row(
            "gate_results",
            phase_id=self._phase.id,
            attempt=attempt,
            gate=report.gate,
            passed=int(passed),
            violations_json=encode(violations),
            checks_json=encode(checks),
            created_at=_clock.now(),
        )
        payload = {"attempt": attempt, "checks": checks, "violations": violations, "verdict": report.verdict}
        self._phase.event("gate_pass" if passed else "gate_fail", report.gate, payload)
