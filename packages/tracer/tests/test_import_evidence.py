"""Imported sessions as evidence: what is published of them, when, and once."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from import_lab import FIRST, SECOND, Trace, answer, lines, prompt, returned, tool_use

from agent_workflow.evidence_schemas import (
    ExecutionMetrics,
    ImportedLaunchContract,
    LifecycleEvent,
    RunProvenance,
    SessionStatus,
)
from agent_workflow.tracer.evidence import NotTraced, finalize_lost
from agent_workflow.tracer.importing import ImportReport
from agent_workflow.tracer.pricing import load_prices

SECRET = "nobody-may-read-this"
REFUSED = answer(FIRST, "m", 10, isApiErrorMessage=True, error="invalid_request")
REFUSED["message"]["model"] = "<synthetic>"
MODELS: dict[str, Any] = {
    "launch-contract.json": ImportedLaunchContract,
    "run-provenance.json": RunProvenance,
    "execution-metrics.json": ExecutionMetrics,
    "status.json": SessionStatus,
    "final-status.json": SessionStatus,
}


class Evidence:
    """A trace that is imported into, and the state root beside it."""

    def __init__(self, folder: Path) -> None:
        self.trace = Trace(folder / "data")
        self.root = folder / "state"

    def take(self, *paths: Path, **options: Any) -> ImportReport:
        """Import and publish."""
        return self.trace.take(*paths, publish_to=self.root, **options)

    def names(self) -> set[str]:
        """Return the names of all runs; whatever else lies there is a fault."""
        return {path.name for path in (self.root / "runs").iterdir()}

    def read(self, name: str, document: str) -> dict[str, Any]:
        """Read a document of a run; it keeps its contract."""
        value: dict[str, Any] = json.loads((self.root / "runs" / name / document).read_bytes())
        if document in MODELS:
            MODELS[document].model_validate(value)
        return value

    def stages(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the metrics of a run by their stage."""
        return {stage["stage"]: stage for stage in self.read(name, "execution-metrics.json")["stages"]}


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    """Make an empty trace with a state root."""
    return Evidence(tmp_path)


def session(path: Path, *more: dict[str, Any], identity: str = FIRST) -> Path:
    """Write a session of one answered turn that calls a tool, and what follows it."""
    path.write_bytes(
        lines(
            prompt(identity, SECRET, 1, gitBranch="fix/it"),
            answer(identity, "msg_1", 2, tool_use("call_1", SECRET)),
            returned(identity, "call_1", 3),
            answer(identity, "msg_2", 4, spent=(100, 50)),
            *more,
        )
    )
    return path


RUN = f"claude_code-{FIRST}"


def test_a_session_is_a_whole_run(evidence: Evidence, tmp_path: Path) -> None:
    """Every document keeps its contract; nothing is made up of what nobody saw."""
    report = evidence.take(session(tmp_path / "a.jsonl"))

    launch = evidence.read(RUN, "launch-contract.json")
    source = evidence.read(RUN, "run-provenance.json")
    status = evidence.read(RUN, "final-status.json")
    assert ([RUN], [], []) == (report.published, report.fresh, report.unpublished)
    assert ("imported", None) == (launch["origin"], launch["runner"])
    assert ("/home/dev/repo", "fix/it") == (launch["worktree"]["path"], launch["worktree"]["branch"])
    assert "2026-03-01T00:00:01.000+00:00" == launch["session"]["created_at"] == source["started_at"]
    assert ("2026-03-01T00:00:04.000+00:00", None) == (source["finished_at"], source["exit_code"])
    assert ("claude_code", "claude-sonnet-4-5") == (source["executor"], source["model"])
    assert ("completed", False) == (status["executor_result"], status["acceptance_eligible"])
    assert not (evidence.root / "runs" / RUN / "process-result.json").exists()


def test_nothing_that_anybody_wrote_is_published(evidence: Evidence, tmp_path: Path) -> None:
    """No prompt, no argument, no text of a tool."""
    evidence.take(session(tmp_path / "a.jsonl"))

    written = b"".join(path.read_bytes() for path in (evidence.root / "runs" / RUN).iterdir())
    assert SECRET.encode() not in written
    assert b"of call_1" not in written
    assert b"Done." not in written


def test_its_lifecycle_is_told_in_its_own_time(evidence: Evidence, tmp_path: Path) -> None:
    """From the first record to the last, with its phases."""
    evidence.take(session(tmp_path / "a.jsonl"))

    events = [json.loads(line) for line in (evidence.root / "runs" / RUN / "events.jsonl").read_text().splitlines()]
    for event in events:
        LifecycleEvent.model_validate(event)
    assert list(range(1, len(events) + 1)) == [event["sequence"] for event in events]
    assert ["running", "completed"] == [event["new"] for event in events if event["dimension"] == "execution"]
    assert ["running", "success"] == [event["new"] for event in events if event["dimension"] == "phase:conversation"]
    assert sorted(event["timestamp"] for event in events) == [event["timestamp"] for event in events]
    assert "2026-03-01T00:00:04.000+00:00" == events[-1]["timestamp"]


def test_once_is_once(evidence: Evidence, tmp_path: Path) -> None:
    """Again, and without the ledger: nothing changes."""
    file = session(tmp_path / "a.jsonl")
    evidence.take(file)
    before = {path.name: path.read_bytes() for path in (evidence.root / "runs" / RUN).iterdir()}

    again = evidence.take(file)
    (evidence.trace.folder / "imported.db").unlink()
    anew = evidence.take(file)

    assert ([], []) == (again.published, anew.published)
    assert [RUN] == anew.written
    assert {RUN} == evidence.names()
    assert before == {path.name: path.read_bytes() for path in (evidence.root / "runs" / RUN).iterdir()}


def test_another_price_list_is_no_news(evidence: Evidence, tmp_path: Path) -> None:
    """Every release of it would publish the whole history again."""
    pytest.importorskip("genai_prices")
    file = session(tmp_path / "a.jsonl")
    evidence.take(file)
    (evidence.trace.folder / "imported.db").unlink()
    prices = load_prices()
    assert prices is not None
    prices.catalogue = "genai-prices of tomorrow"

    report = evidence.take(file, prices=prices)

    assert ([RUN], []) == (report.written, report.published)
    assert [("genai-prices of tomorrow",)] == evidence.trace.rows("SELECT price_catalogue FROM sessions")


def test_a_session_that_has_grown_is_another_run(evidence: Evidence, tmp_path: Path) -> None:
    """The seal stays; the new run tells all of the session and names the one whose place it takes."""
    file = session(tmp_path / "a.jsonl")
    evidence.take(file)
    seal = (evidence.root / "runs" / RUN / "final-receipt.json").read_bytes()
    with file.open("ab") as stream:
        stream.write(lines(prompt(FIRST, "More", 60), answer(FIRST, "msg_3", 61, spent=(7, 1))))
    (second,) = evidence.take(file).published

    assert seal == (evidence.root / "runs" / RUN / "final-receipt.json").read_bytes()
    assert RUN == evidence.read(second, "launch-contract.json")["session"]["retry_of"]
    assert RUN == evidence.read(second, "run-provenance.json")["retry_of_run_id"]
    assert 8 == (
        evidence.stages(second)["total"]["provider_total_tokens"]
        - evidence.stages(RUN)["total"]["provider_total_tokens"]
    )


def test_what_may_be_at_work_waits(evidence: Evidence, tmp_path: Path) -> None:
    """Until it was quiet for a while, without being read again; or until somebody says that it is over."""
    now = datetime.now(UTC) - timedelta(seconds=30)
    text = session(tmp_path / "a.jsonl").read_text().replace("2026-03-01T00:00", now.strftime("%Y-%m-%dT%H:%M"))
    (tmp_path / "a.jsonl").write_text(text)

    first = evidence.take(tmp_path / "a.jsonl")
    later = evidence.take(tmp_path / "a.jsonl", quiet_seconds=0.0)

    assert ([], [RUN]) == (first.published, first.fresh)
    assert ([RUN], [], []) == (later.published, later.fresh, later.written)


@pytest.mark.parametrize("newer", ["file", "records"])
def test_quiet_is_what_either_clock_says(evidence: Evidence, tmp_path: Path, newer: str) -> None:
    """A copy has a new time and old records; a clock that was wrong wrote records of tomorrow into an old file."""
    file = session(tmp_path / "a.jsonl")
    if newer == "records":
        file.write_text(file.read_text().replace("2026-03-01T", "2099-03-01T"))
        os.utime(file, (1_000_000_000, 1_000_000_000))

    assert [RUN] == evidence.take(file).published


def test_without_a_state_root_nothing_is_published_and_later_all_of_it(evidence: Evidence, tmp_path: Path) -> None:
    """Who changes their mind gets the history as well."""
    file = session(tmp_path / "a.jsonl")
    evidence.trace.take(file)
    assert not evidence.root.exists()

    assert [RUN] == evidence.take(file).published


def test_a_state_root_that_cannot_be_trusted_fails_no_import(evidence: Evidence, tmp_path: Path) -> None:
    """It is told; the next import tries again."""
    evidence.root.mkdir()
    evidence.root.chmod(0o777)
    report = evidence.take(session(tmp_path / "a.jsonl"))
    evidence.root.chmod(0o700)

    assert ([RUN], []) == (report.written, report.published)
    assert "writable by others" in report.unpublished[0]
    assert [RUN] == evidence.take(tmp_path / "a.jsonl").published


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([answer(FIRST, "m", 10, tool_use("c2"))], ("lost", "lost")),
        ([prompt(FIRST, "More", 9), REFUSED], ("failed", "provider_error")),
        (
            [answer(FIRST, "m", 10, tool_use("c2")), prompt(FIRST, "[Request interrupted by user]", 11)],
            ("interrupted", "interrupted"),
        ),
    ],
    ids=["in a tool", "refused", "interrupted"],
)
def test_how_it_ended_is_its_last_turn(
    evidence: Evidence, tmp_path: Path, last: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    """What the record does not tell is lost: nobody saw it."""
    evidence.take(session(tmp_path / "a.jsonl", *last))

    status = evidence.read(RUN, "final-status.json")
    assert expected == (status["executor_result"], status["failure_category"])
    assert status["status"] == ("interrupted" if expected[0] == "interrupted" else "failed")


def with_subagent(folder: Path) -> Path:
    """Write a session of 40 tokens that starts a sub-agent of 130."""
    call = {"type": "tool_use", "id": "call_a", "name": "Task", "input": {"subagent_type": "Explore"}}
    own = {"isSidechain": True, "agentId": "abc123"}
    (folder / FIRST / "subagents").mkdir(parents=True)
    main = [
        prompt(FIRST, "Go", 1),
        answer(FIRST, "msg_1", 2, call, spent=(10, 5)),
        returned(FIRST, "call_a", 8, toolUseResult={"agentId": "abc123", "status": "completed"}),
        answer(FIRST, "msg_2", 9, spent=(20, 5)),
    ]
    (folder / f"{FIRST}.jsonl").write_bytes(lines(*main))
    (folder / FIRST / "subagents/agent-abc123.jsonl").write_bytes(
        lines(prompt(FIRST, "Look", 3, **own), answer(FIRST, "msg_s", 4, spent=(100, 30), **own))
    )
    return folder


def three_stages(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the stages of the conversation, of its sub-agent, and of both."""
    stages = evidence.stages(RUN)
    (child,) = [stage for name, stage in stages.items() if name not in ("total", "child:claude_code")]
    return [stages["child:claude_code"], child, stages["total"]]


def test_a_subagent_is_counted_once(evidence: Evidence, tmp_path: Path) -> None:
    """It is a stage of its own and in the total; the parent's stage is without it."""
    evidence.take(with_subagent(tmp_path / "p"))

    assert [40, 130, 170] == [stage["provider_total_tokens"] for stage in three_stages(evidence)]


def test_estimates_are_no_bill(evidence: Evidence, tmp_path: Path) -> None:
    """They name their price list, and those of the sub-agent are in the total once."""
    pytest.importorskip("genai_prices")
    evidence.take(with_subagent(tmp_path / "p"))

    stages = three_stages(evidence)
    estimates = [stage["local_estimated_cost"] for stage in stages]
    assert pytest.approx(estimates[0] + estimates[1]) == estimates[2] > 0
    assert {None} == {stage["provider_billed_cost"] for stage in stages}
    assert {"USD"} == {stage["currency"] for stage in stages}
    assert all(stage["price_catalog_id"].startswith("genai-prices ") for stage in stages)


def test_what_is_left_of_a_killed_import_is_made_good(evidence: Evidence, tmp_path: Path) -> None:
    """A name that was claimed and not filled is used by the next."""
    file = session(tmp_path / "a.jsonl")
    evidence.take(file)
    shutil.rmtree(evidence.root / "runs" / RUN)
    (evidence.root / "runs" / RUN).mkdir(mode=0o700)
    (evidence.trace.folder / "imported.db").unlink()

    assert [RUN] == evidence.take(file).published
    assert {RUN} == evidence.names()


def test_two_traces_with_the_same_session(tmp_path: Path) -> None:
    """Names are unique on a host; each trace has its own run."""
    file = session(tmp_path / "a.jsonl")
    one, other = Evidence(tmp_path / "one"), Evidence(tmp_path / "other")
    other.root = one.root

    assert [RUN] == one.take(file).published
    (name,) = other.take(file).published

    assert name.startswith(f"{RUN}-")
    assert other.read(name, "launch-contract.json")["session"]["retry_of"] is None


def test_nobody_finalizes_an_imported_run(evidence: Evidence, tmp_path: Path) -> None:
    """It has no process that could be gone."""
    evidence.take(session(tmp_path / "a.jsonl"))

    with pytest.raises(NotTraced):
        finalize_lost(evidence.root / "runs" / RUN, reason="x", actor="x", warn=print)


def test_many_sessions(evidence: Evidence, tmp_path: Path) -> None:
    """Each is a run; progress says how far it is."""
    session(tmp_path / "a.jsonl")
    session(tmp_path / "b.jsonl", prompt(SECOND, "Other", 70), answer(SECOND, "msg_9", 71), identity=SECOND)
    told: list[tuple[int, int]] = []
    evidence.take(tmp_path, progress=lambda progress: told.append((progress.published, progress.to_publish)))

    assert {RUN, f"claude_code-{SECOND}"} == evidence.names()
    assert [(0, 2), (1, 2)] == [one for one in told if one[1]]
