"""How a run ended: decided from facts, in closed words, without a word of what anybody wrote."""

from typing import Any

import pytest

from agent_workflow.evidence_schemas import ProcessResult, RunProvenance, SessionStatus, TracedLaunchContract
from agent_workflow.tracer import (
    AgentFailed,
    ConfigError,
    GateRaised,
    GatesFailed,
    InvalidReply,
    PermissionBreach,
    ProviderError,
    TraceWriteFailed,
)
from agent_workflow.tracer._config import AgentConfig
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer.evidence._documents import final_status, process_result, provenance
from agent_workflow.tracer.evidence._facts import Call, Command, Facts
from agent_workflow.tracer.evidence._launch import launch_contract, running_status
from agent_workflow.tracer.evidence._outcome import (
    category_of,
    conclude,
    conclude_imported,
    is_lost,
    last_failures,
    lost,
)
from agent_workflow.tracer.evidence._publications import Publication
from agent_workflow.tracer.evidence._repository import Checkout

REFUSED = "the configuration cannot be used"
MOMENT = "2026-01-01T00:00:00.000+00:00"


def facts(status: str, **more: Any) -> Facts:
    """Make up what a session's files say."""
    return Facts(session={"status": status, "request": None, "ended_at": MOMENT}, **more)


def phase(name: str, status: str) -> dict[str, Any]:
    """Make up a phase."""
    return {"phase_id": f"p_{name}", "name": name, "status": status}


def gate(phase_id: str, attempt: int, passed: int, name: str = "sharp") -> dict[str, Any]:
    """Make up a gate's result."""
    return {"phase_id": phase_id, "attempt": attempt, "gate": name, "passed": passed}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GatesFailed("x"), "gate_failed"),
        (GateRaised("x"), "gate_failed"),
        (PermissionBreach("x"), "permission_breach"),
        (ProviderError("x"), "provider_error"),
        (InvalidReply("x"), "invalid_reply"),
        (AgentFailed("x"), "agent_failed"),
        (ConfigError("x"), "configuration"),
        (KeyboardInterrupt(), "interrupted"),
        (TraceWriteFailed("x"), "workflow_error"),
        (ValueError("x"), "workflow_error"),
        (SystemExit(3), "workflow_error"),
        (None, "workflow_error"),
    ],
)
def test_category_of_an_error(error: BaseException | None, expected: str) -> None:
    """Each kind of error has one word; a signal goes before whatever it raised."""
    assert expected == category_of(error)
    assert "interrupted" == category_of(error, was_signalled=True)


@pytest.mark.parametrize(
    ("closing", "phases", "refused", "expected"),
    [
        (("workflow", "SIGTERM"), ["fail"], False, ("interrupted", "it was ended by SIGTERM")),
        (("workflow", f"{REFUSED}: x"), [], False, ("configuration", REFUSED)),
        (None, ["fail"], False, ("gate_failed", "phase p0 failed: gates failed")),
        (None, ["fail"], True, ("gate_failed", "phase p0 failed: gates failed")),
        (("workflow", "GatesFailed: SECRET"), ["fail"], False, ("gate_failed", "phase p0 failed: gates failed")),
        (None, ["success"], True, ("not_accepted", "the workflow did not accept the result")),
        (("workflow", "KeyError: SECRET"), ["success"], False, ("workflow_error", "the workflow raised KeyError")),
        (("workflow", "a SECRET: x"), [], False, ("workflow_error", "the workflow ended without finish()")),
        (None, ["success"], False, ("not_accepted", "an earlier run of the session failed")),
    ],
)  # fmt: skip
def test_failure(closing: tuple[str, str] | None, phases: list[str], refused: bool, expected: tuple[str, str]) -> None:
    """The category and the sentence follow from what closed the session, its phases and the workflow's judgement."""
    rows = [phase(f"p{number}", status) for number, status in enumerate(phases)]
    found = conclude(facts("fail", closing=closing, phases=rows, was_refused=refused), {"p_p0": "gate_failed"})

    assert expected == (found.failure_category, found.terminal_error)
    assert not found.is_success
    assert "SECRET" not in repr(found)


@pytest.mark.parametrize(
    ("gates", "status", "category", "expected"),
    [
        ([], "success", "", "not_evaluated"),
        ([gate("p_a", 1, 1)], "success", "", "passed"),
        ([gate("p_a", 1, 0), gate("p_a", 2, 1)], "success", "", "passed"),
        ([gate("p_a", 1, 0)], "fail", "gate_failed", "failed"),
        ([gate("p_a", 1, 1)], "fail", "provider_error", "passed"),
        ([gate("p_a", 1, 0)], "fail", "provider_error", "not_evaluated"),
    ],
    ids=["none", "green", "green at last", "red", "green, then no provider", "red, then no provider"],
)
def test_policy(gates: list[dict[str, Any]], status: str, category: str, expected: str) -> None:
    """A run that was cut off between a red gate and the next attempt has no verdict."""
    phases = [phase("a", "success" if status == "success" else "fail")]
    found = conclude(facts(status, phases=phases, gates=gates), {"p_a": category})

    assert expected == found.policy_result
    assert (expected == "failed") == bool(found.failed_gates)


def test_the_last_look_of_each_phase_counts() -> None:
    """What was red and then green is green; what was green and then red is red; phases do not mix."""
    rows = [
        gate("a", 1, 0), gate("b", 1, 1), gate("a", 2, 1), gate("b", 2, 0, "first"), gate("b", 2, 1, "second"),
    ]  # fmt: skip

    assert [("b", "first")] == [(row["phase_id"], row["gate"]) for row in last_failures(rows)]


@pytest.mark.parametrize(
    ("status", "closing", "expected"),
    [
        ("running", None, True),
        ("fail", ("lost", "x"), True),
        ("fail", ("killed", "x"), True),
        ("fail", ("workflow", "SIGTERM"), False),
        ("fail", None, False),
        ("success", ("lost", "x"), False),
    ],
)
def test_is_lost(status: str, closing: tuple[str, str] | None, expected: bool) -> None:
    """Lost is what did not end by its own process; a session that was lost once and succeeded later is not."""
    assert expected == is_lost(facts(status, closing=closing))


LAUNCH = launch_contract(
    Publication("/state", "run1", "adw_x.py", MOMENT, retry_of="run0"),
    workflow="adw_x",
    agents={"a": AgentConfig("a", model=""), "b": AgentConfig("b", "scripted", "scripted/top-secret.json")},
    root="/repository",
    checkout=Checkout("a" * 40, "fix/top-secret", True),
    runner={"pid": 7, "start_marker": "linux:boot:1"},
    trace={"adw_id": "run1", "database": "/db", "session_directory": "/sessions/run1"},
    redactor=Redactor({"NAME": "top-secret"}),
)


def test_launch_contract() -> None:
    """It keeps its contract; what people named is redacted, and no model is none."""
    TracedLaunchContract.model_validate(LAUNCH)

    assert [None, "scripted/[redacted:NAME].json"] == [agent["model"] for agent in LAUNCH["agents"]]
    assert "fix/[redacted:NAME]" == LAUNCH["worktree"]["branch"]
    assert "run0" == LAUNCH["session"]["retry_of"]


@pytest.mark.parametrize("status", ["success", "fail"])
def test_documents_keep_their_contracts(status: str) -> None:
    """Whatever the outcome, each document is valid, and names what was really used, sorted."""
    pairs = (("scripted", "b"), ("pi", "a"), ("pi", ""))
    used = [{"coding_agent": agent, "model": model} for agent, model in pairs]
    found = facts(status, agents=used, phases=[phase("a", status)], gates=[gate("p_a", 1, 0)])
    outcome = conclude(found, {"p_a": "gate_failed"})
    last = final_status(running_status(LAUNCH, MOMENT), outcome, MOMENT)
    source = provenance(LAUNCH, found, outcome, program="x.py", prompt_sha256=found.prompt_sha256, ended_at=MOMENT)
    result = process_result(LAUNCH, found, outcome, program="x.py", seconds=1.5, at=MOMENT)

    SessionStatus.model_validate(last)
    ProcessResult.model_validate(result)
    assert ("pi+scripted", "a+b") == (source["executor"], source["model"])
    assert RunProvenance.model_validate(source).argv == ["x.py"]
    assert ([] if status == "success" else [{"gate": "sharp", "phase_id": "p_a"}]) == last["policy_failures"]


def test_a_lost_run_without_its_repository() -> None:
    """What only the session's files could tell is unknown."""
    outcome = lost(None, {}, "its process is gone")
    source = provenance(LAUNCH, None, outcome, program="adw_x", prompt_sha256="0" * 64, ended_at=None)

    RunProvenance.model_validate(source)
    assert (None, None, None) == (source["executor"], source["model"], source["exit_code"])
    assert ("failed", "lost", "lost") == (outcome.status, outcome.executor_result, outcome.failure_category)


@pytest.mark.parametrize(
    ("closing", "expected"),
    [
        (("workflow", "ended by trace kill"), ("it was ended by trace kill", None, 1)),
        (("workflow", "AgentFailed: exit code 143"), ("it was ended by trace kill", None, 1)),
        (None, ("it was ended by trace kill", None, 1)),
        (("workflow", "SIGTERM"), ("it was ended by SIGTERM", 15, 143)),
    ],
)
def test_what_was_asked_to_end_was_interrupted(
    closing: tuple[str, str] | None, expected: tuple[str, int | None, int]
) -> None:
    """Whatever its agents and its own code made of that."""
    found = conclude(facts("fail", closing=closing, was_asked_to_end=True, phases=[phase("a", "fail")]), {})

    assert ("interrupted", "interrupted", "interrupted") == (
        found.status,
        found.executor_result,
        found.failure_category,
    )
    assert expected == (found.terminal_error, found.signal, found.exit_code)


def test_what_was_asked_to_end_and_finished_before_that_succeeded() -> None:
    """The note is not the end."""
    assert conclude(facts("success", was_asked_to_end=True), {}).is_success


@pytest.mark.parametrize(
    ("command", "expected"),
    [(Command(3, None, 0, 0), (3, None)), (Command(0, None, 0, 0), (0, None)), (Command(None, 9, 0, 0), (137, 9))],
)
def test_a_recorded_command_tells_its_own_end(command: Command, expected: tuple[int, int | None]) -> None:
    """A command may end with 0 and have failed: pi does after a refusal."""
    found = conclude(facts("fail", command=command, phases=[phase("run", "fail")]), {"p_run": "provider_error"})

    assert expected == (found.exit_code, found.signal)
    assert ("failed", "provider_error") == (found.executor_result, found.failure_category)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("incomplete", ("failed", "lost", "lost")),
        ("aborted", ("interrupted", "interrupted", "interrupted")),
        ("provider_error", ("failed", "failed", "provider_error")),
        ("failed", ("failed", "failed", "agent_failed")),
        ("cut_off", ("failed", "failed", "agent_failed")),
        ("SECRET", ("failed", "lost", "lost")),
        (None, ("failed", "lost", "lost")),
    ],
)
def test_an_imported_session_ended_as_its_conversation_did(verdict: str | None, expected: tuple[str, str, str]) -> None:
    """A sub-agent that ended later is not asked; what is not told is lost, in a fixed sentence."""
    rows = [{"agent": "pi", "coding_agent": "pi"}, {"agent": "Explore a1", "coding_agent": "pi"}]
    calls = [
        Call("pi", MOMENT, MOMENT, {"sends": [{"verdict": verdict, "error": "SECRET"}]}),
        Call("Explore a1", MOMENT, MOMENT, {"sends": [{"verdict": "answered"}]}),
    ]
    found = conclude_imported(facts("fail", agents=rows, calls=calls))

    assert expected == (found.status, found.executor_result, found.failure_category)
    assert (None, False) == (found.exit_code, found.is_success)
    assert "SECRET" not in str(found)
