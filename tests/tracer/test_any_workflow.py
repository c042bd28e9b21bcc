"""Whatever a workflow does, its files and its database agree, and a rebuild gives the same rows."""

import io
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, example, given, settings
from tracer_lab import TABLES, Project

from agent_workflow.trace_schema import PAYLOADS
from agent_workflow.tracer import (
    AgentCall,
    AgentError,
    Check,
    GateContext,
    GateReport,
    PhaseParams,
    TraceReader,
    ensure,
    load_config,
    rebuild,
)

TEXT = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.integers(), inner, max_size=3),
    max_leaves=8,
)
TURNS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "text": st.sampled_from(["{}", '{"summary": "ok"}', "no json", '{"summary": 3}', "ünïcode \u2028"]),
            "tools": st.lists(
                st.sampled_from(
                    [
                        {"name": "write", "arguments": {"path": "out.txt", "content": "x"}},
                        {"name": "read", "arguments": {"path": "missing"}},
                        {"name": "unheard-of", "arguments": {}},
                    ]
                ),
                max_size=2,
            ),
            "error": st.sampled_from(["", "503: overloaded"]),
            "stop": st.sampled_from(["stop", "length", "aborted"]),
            "input": st.integers(0, 10**6),
        },
    ),
    min_size=1,
    max_size=2,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("log"), st.dictionaries(TEXT.filter(str.isidentifier), VALUES, max_size=3)),
        st.tuples(st.just("raise"), TEXT),
        st.tuples(
            st.just("call"),
            st.tuples(
                st.lists(TURNS, min_size=1, max_size=2),
                st.lists(st.sampled_from(["good", "bad", "raises", "nothing"]), max_size=2),
            ),
        ),
    ),
    max_size=4,
)
WORKFLOWS = st.lists(st.tuples(st.sampled_from(["engineer", "agent", "code"]), st.integers(0, 1), STEPS), max_size=3)


def gate(kind: str) -> Any:
    """Make a gate that does what its name says."""

    def look(_: GateContext) -> GateReport:
        if kind == "raises":
            raise ValueError("gate fault")
        return GateReport(kind, [] if kind == "nothing" else [Check("item", kind == "good", "seen")])

    return look


def play(root: Path, workflow: Any, adw_id: str, accepted: bool) -> None:
    """Run a workflow in this process."""
    run = ensure(load_config(root / "adws/sssf.config.yaml"), adw_id)
    for kind, retries, steps in workflow:
        params = PhaseParams(name="step", kind=kind, owner="builder", description="Do anything", retries=retries)
        try:
            with run.phase(params) as phase:
                for step, detail in steps:
                    if step == "log":
                        phase.log(**detail)
                    elif step == "raise":
                        raise ValueError(detail)
                    else:
                        sends, gates = detail
                        script(root, sends)
                        phase.call(AgentCall(prompt="go", gates=[gate(name) for name in gates]))
        except (ValueError, AgentError):
            continue
    run.finish(accepted=accepted, reason="as drawn")


def script(root: Path, sends: Any) -> None:
    """Write what the agent plays next."""
    import json

    (root / "script.json").write_text(json.dumps({"sends": [{"turns": turns} for turns in sends]}))


ANSWER = {"text": '{"summary": "ok"}', "tools": [{"name": "write", "arguments": {"path": "out.txt", "content": "x"}}]}
EVERY_TABLE = [
    ("engineer", 0, [("log", {"input": "Do it"})]),
    ("agent", 1, [("call", ([[{"text": "no json"}], [ANSWER]], ["good", "nothing"]))]),
    ("agent", 1, [("call", ([[ANSWER]], ["good", "bad"]))]),
    ("agent", 0, [("call", ([[ANSWER]], ["raises"])), ("call", ([[{"error": "503: overloaded"}]], []))]),
    ("code", 0, [("raise", "no")]),
]


@example(first=EVERY_TABLE, second=EVERY_TABLE[:2], accepted=True)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=WORKFLOWS, second=WORKFLOWS, accepted=st.booleans())
def test_rebuild_gives_the_same_rows(project: Project, first: Any, second: Any, accepted: bool) -> None:
    """Two random workflows, the second joined to the first, leave files from which every row comes back."""
    project.script([{"text": "{}"}])
    adw_id = f"run{next(NUMBERS)}"
    with redirect_stderr(io.StringIO()):
        play(project.root, first, adw_id, accepted)
        play(project.root, second, adw_id, True)
    before = project.everything()
    assert first is not EVERY_TABLE or all(before[table] for table in TABLES)

    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)
    report = rebuild(project.db, project.data_dir)

    assert report.lost_nothing, report
    for table in TABLES:
        assert before[table] == project.everything()[table]
    check_sums(project, adw_id)


def check_sums(project: Project, adw_id: str) -> None:
    """Payloads are as the contract says; sends sum to calls and calls to the session; success was earned."""
    ends = [event["payload"] for event in project.events(adw_id, "agent_end")]
    for event in project.events(adw_id):
        PAYLOADS[event["type"]].model_validate(event["payload"])
    for end in ends:
        parts = [end["usage"][f"{part}_tokens"] for part in ("input", "output", "cache_read", "cache_write")]
        assert end["usage"]["total_tokens"] == sum(parts) == sum(send["usage"]["total_tokens"] for send in end["sends"])
    with TraceReader(project.db) as reader:
        session, phases = reader.session(adw_id), reader.phases(adw_id)
    assert sum(end["tokens"] for end in ends) == session["total_tokens"]
    if session["status"] == "success":
        assert {"success"} >= {phase["status"] for phase in phases}


NUMBERS = iter(range(10**6))
