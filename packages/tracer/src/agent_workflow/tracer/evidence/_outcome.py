"""How a run ended, in the closed words of its records. Decided from facts alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agent_workflow.tracer._closing import REFUSED_CONFIGURATION
from agent_workflow.tracer._errors import (
    AgentError,
    ConfigError,
    GateRaised,
    GatesFailed,
    InvalidReply,
    PermissionBreach,
    ProviderError,
)
from agent_workflow.tracer._kill_request import ENDED_BY_KILL, FRONT_WAS_KILLED
from agent_workflow.tracer._replay import Row
from agent_workflow.tracer._shown import RUNNING
from agent_workflow.tracer.evidence._facts import Facts

_SIGNALS: Final = {"SIGHUP": 1, "SIGINT": 2, "SIGTERM": 15, FRONT_WAS_KILLED: 9}
_NAMES: Final = {9: "SIGKILL"}
_CLASS_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=: )")
_SENTENCES: Final = {
    "gate_failed": "gates failed",
    "permission_breach": "an agent wrote where it may not",
    "provider_error": "the model's provider refused",
    "invalid_reply": "an agent gave no valid reply",
    "agent_failed": "an agent failed",
    "configuration": REFUSED_CONFIGURATION,
    "interrupted": "it was interrupted",
    "workflow_error": "the workflow itself failed",
    "not_accepted": "the workflow did not accept the result",
    "lost": "its process is gone",
}
# The first that fits: an error's class before its base.
_CATEGORIES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (GatesFailed, "gate_failed"),
    (GateRaised, "gate_failed"),
    (PermissionBreach, "permission_breach"),
    (ProviderError, "provider_error"),
    (InvalidReply, "invalid_reply"),
    (AgentError, "agent_failed"),
    (ConfigError, "configuration"),
    (KeyboardInterrupt, "interrupted"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: ``completed``, ``failed`` or ``interrupted``.
        executor_result: ``completed``, ``failed``, ``interrupted`` or ``lost``.
        failure_category: one of ten words, ``None`` for success.
        terminal_error: a fixed sentence, at most with the name of a phase or of an error's class.
        policy_result: ``passed``, ``failed`` or ``not_evaluated``, by the gates.
        failed_gates: names of those that failed at their last look, each with its phase's id.
        is_success: whether the session succeeded.
        exit_code: of the workflow as it announced it; not known for one that is lost.
        signal: that it was ended by.
    """

    status: str
    executor_result: str
    failure_category: str | None
    terminal_error: str | None
    policy_result: str
    failed_gates: tuple[tuple[str, str], ...] = ()
    is_success: bool = False
    exit_code: int | None = None
    signal: int | None = None


def category_of(error: BaseException | None, *, was_signalled: bool = False) -> str:
    """Name the category of the error that failed a phase."""
    if was_signalled:
        return "interrupted"
    return next((word for kind, word in _CATEGORIES if isinstance(error, kind)), "workflow_error")


def is_lost(facts: Facts) -> bool:
    """Tell whether a session did not end by its own process: somebody closed it, or nobody did."""
    if facts.session.get("status") == RUNNING:
        return True
    return facts.session.get("status") != "success" and facts.closing is not None and facts.closing[0] != "workflow"


def lost(facts: Facts | None, categories: Mapping[str, str], reason: str) -> Outcome:
    """Describe a run whose process is gone.

    Args:
        facts: what its session's files say, if they are there.
        categories: of failed phases by their ids, as far as they are known.
        reason: how that is known.
    """
    policy = _policy(facts, categories, is_success=False) if facts else "not_evaluated"
    return Outcome("failed", "lost", "lost", reason, policy, _failed_gates(facts, policy))


def conclude(facts: Facts, categories: Mapping[str, str]) -> Outcome:
    """Decide how a run ended whose session is closed.

    Args:
        facts: what its session's files say.
        categories: of failed phases by their ids, as far as they are known.
    """
    if facts.session.get("status") == "success":
        policy = _policy(facts, categories, is_success=True)
        return Outcome("completed", "completed", None, None, policy, is_success=True, exit_code=0)
    category, told, number = _failure(facts, categories)
    result = {"interrupted": "interrupted", "not_accepted": "completed"}.get(category, "failed")
    policy = _policy(facts, categories, is_success=False)
    exit_code = 1 if number is None else 128 + number
    if facts.command is not None:  # its own word goes before what its recorder makes of it
        number = facts.command.signal
        exit_code = 128 + (number or 0) if facts.command.exit_code is None else facts.command.exit_code
    return Outcome(
        status="interrupted" if result == "interrupted" else "failed",
        executor_result=result,
        failure_category=category,
        terminal_error=told,
        policy_result=policy,
        failed_gates=_failed_gates(facts, policy),
        exit_code=exit_code,
        signal=number,
    )


def conclude_imported(facts: Facts) -> Outcome:
    """Decide how a session ended of which only the agent's own record is known: by its last turn.

    Args:
        facts: what its session's files say.
    """
    if facts.session.get("status") == "success":
        return Outcome("completed", "completed", None, None, "not_evaluated", is_success=True)
    main = next((row.get("coding_agent") for row in facts.agents), None)  # the conversation has its agent's plain name
    calls = [call for call in facts.calls if call.agent == main and call.payload] or facts.calls
    sends = (calls[-1].payload or {}).get("sends") if calls else None
    last = sends[-1] if isinstance(sends, list) and sends and isinstance(sends[-1], dict) else {}
    category, told = _IMPORTED.get(str(last.get("verdict")), _UNANSWERED)
    result = category if category in ("interrupted", "lost") else "failed"
    status = "interrupted" if result == "interrupted" else "failed"
    return Outcome(status, result, category, told, "not_evaluated")


_UNANSWERED: Final = ("lost", "the agent's record stops before an answer")
_IMPORTED: Final = {
    "aborted": ("interrupted", "its last turn was interrupted"),
    "provider_error": ("provider_error", "the model's provider refused"),
    "failed": ("agent_failed", "its last turn failed"),
    "cut_off": ("agent_failed", "its last answer was cut off"),
}


def _failure(facts: Facts, categories: Mapping[str, str]) -> tuple[str, str, int | None]:
    """Return the category, a sentence, and the signal, if there was one."""
    name, reason = facts.closing or ("", "")
    failed = [row for row in facts.phases if row.get("status") != "success"]
    if name == "workflow" and reason in _SIGNALS:
        number = _SIGNALS[reason]
        return "interrupted", f"it was ended by {_NAMES.get(number, reason)}", number
    if facts.was_asked_to_end:
        return "interrupted", f"it was {ENDED_BY_KILL}", None
    if name == "workflow" and reason.startswith(REFUSED_CONFIGURATION):
        return "configuration", REFUSED_CONFIGURATION, None
    if failed:
        category = categories.get(str(failed[-1].get("phase_id")), "workflow_error")
        return category, f"phase {failed[-1].get('name')} failed: {sentence(category)}", None
    if facts.was_refused:
        return "not_accepted", sentence("not_accepted"), None
    if facts.closing is None:
        return "not_accepted", "an earlier run of the session failed", None
    found = _CLASS_NAME.match(reason)
    told = f"the workflow raised {found.group()}" if found else "the workflow ended without finish()"
    return "workflow_error", told, None


def sentence(category: str) -> str:
    """Say a category in words."""
    return _SENTENCES.get(category, "it failed")


def _policy(facts: Facts, categories: Mapping[str, str], *, is_success: bool) -> str:
    """Say what the gates came to: a run that was cut off between a red gate and the next attempt has no verdict."""
    if not facts.gates:
        return "not_evaluated"
    if is_success:
        return "passed"
    failed = (str(row.get("phase_id")) for row in facts.phases if row.get("status") != "success")
    if any(categories.get(phase_id) == "gate_failed" for phase_id in failed):
        return "failed"
    return "not_evaluated" if last_failures(facts.gates) else "passed"


def _failed_gates(facts: Facts | None, policy: str) -> tuple[tuple[str, str], ...]:
    if facts is None or policy != "failed":
        return ()
    return tuple((str(row.get("gate")), str(row.get("phase_id"))) for row in last_failures(facts.gates))


def last_failures(gates: list[Row]) -> list[Row]:
    """Return what failed in the last look of each phase: gates that were asked again later do not count."""
    looks: dict[str, list[Row]] = {}
    for row in gates:
        look = looks.setdefault(str(row.get("phase_id")), [])
        if look and look[-1].get("attempt") != row.get("attempt"):
            look.clear()
        look.append(row)
    return [row for look in looks.values() for row in look if not row.get("passed")]
