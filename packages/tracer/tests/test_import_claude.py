"""Claude Code's transcripts: what is one message, whose it is, and what a sub-agent is nested in."""

import json
from pathlib import Path
from typing import Any

import pytest
from import_lab import FIRST, SECOND, Trace, answer, lines, moment, prompt, returned, tool_use

LONG_ID = "msg_01AbCdEfGhIjKlMnOpQrStUv"


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """An empty trace."""
    return Trace(tmp_path / "trace")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder of transcripts."""
    folder = tmp_path / "projects" / "-home-dev-repo"
    folder.mkdir(parents=True)
    return folder


def name(session: str) -> str:
    """The name of a session in the trace."""
    return f"claude_code-{session}"


def test_a_message_of_several_lines_counts_once(trace: Trace, project: Path) -> None:
    """Each block has a line with the usage of all; the last one is the true one."""
    file = project / f"{FIRST}.jsonl"
    file.write_bytes(
        lines(
            prompt(FIRST, "Look", 0),
            answer(FIRST, LONG_ID, 1, {"type": "text", "text": "Hm"}, spent=(100, 1)),
            answer(FIRST, LONG_ID, 2, tool_use("t1"), spent=(100, 1)),
            answer(FIRST, LONG_ID, 3, tool_use("t2"), spent=(100, 40)),
        )
    )

    trace.take(file)

    assert {name(FIRST): 140} == trace.tokens()
    assert 101 + 101 + 140 == trace.raw_tokens()


def test_the_session_its_turns_and_calls(trace: Trace, project: Path) -> None:
    """A session has the agent's own times; a prompt is a turn; a tool call has its result and how it went."""
    file = project / f"{FIRST}.jsonl"
    file.write_bytes(
        lines(
            prompt(FIRST, "Build it", 0),
            answer(FIRST, "a", 1, tool_use("t1", "make"), tool_use("t2")),
            returned(FIRST, "t1", 2),
            returned(FIRST, "t2", 3, is_error=True),
            answer(FIRST, "b", 4),
            prompt(FIRST, "Again", 100),
            answer(FIRST, "c", 101),
        )
    )

    trace.take(file)

    session = trace.rows("SELECT request, status, started_at, ended_at, total_tokens FROM sessions")
    assert [("Build it", "success", "2026-03-01T00:00:00.000+00:00", "2026-03-01T00:01:41.000+00:00", 45)] == session
    assert ["Build it", "Again"] == [start["prompt"] for start in trace.payloads("agent_start")]
    calls = [(call["tool_call_id"], call["ok"], call["result_snippet"]) for call in trace.payloads("tool_call")]
    assert [("t1", True, "of t1"), ("t2", False, "of t2")] == calls
    assert [("Bash: make",), ("Bash: ls",)] == trace.rows("SELECT name FROM events WHERE type = 'tool_call'")
    assert [("claude_code", "claude-sonnet-4-5", FIRST)] == trace.rows(
        "SELECT agent, model, session_id FROM agent_sessions"
    )
    assert [{"verdict": "answered", "turns": 2}, {"verdict": "answered", "turns": 1}] == [
        {key: end["sends"][0][key] for key in ("verdict", "turns")} for end in trace.payloads("agent_end")
    ]


def test_a_copy_in_a_resumed_session_counts_for_the_first(trace: Trace, project: Path) -> None:
    """Older versions wrote a resumed conversation into a new file, with all that was before."""
    first, second = project / f"{FIRST}.jsonl", project / f"{SECOND}.jsonl"
    before = [prompt(FIRST, "Look", 0), answer(FIRST, "a", 1, spent=(100, 10))]
    first.write_bytes(lines(*before))
    copied = [{**record, "sessionId": SECOND} for record in before]
    second.write_bytes(lines(*copied, prompt(SECOND, "Go on", 50), answer(SECOND, "b", 51, spent=(200, 20))))

    trace.take(first, second)

    assert {name(FIRST): 110, name(SECOND): 220} == trace.tokens()
    assert 110 + 110 + 220 == trace.raw_tokens()
    assert ["Look", "Go on"] == [start["prompt"] for start in trace.payloads("agent_start")]


@pytest.mark.parametrize("mark", [{"forkedFrom": {"sessionId": FIRST}}, {"sessionId": FIRST}], ids=["fork", "old id"])
def test_a_line_that_says_that_it_is_a_copy_counts_for_the_other(
    trace: Trace, project: Path, mark: dict[str, object]
) -> None:
    """Even when the fork's file goes on for longer than the first one."""
    first, fork = project / f"{FIRST}.jsonl", project / f"{SECOND}.jsonl"
    before = [prompt(FIRST, "Look", 10), answer(FIRST, "a", 11, spent=(100, 10))]
    first.write_bytes(lines(*before))
    fork.write_bytes(
        lines(
            prompt(SECOND, "Earlier than all", 0),
            answer(SECOND, "z", 1, spent=(1, 1)),
            *({**record, "sessionId": SECOND, **mark} for record in before),
        )
    )

    trace.take(fork)
    trace.take(first)

    assert {name(FIRST): 110, name(SECOND): 2} == trace.tokens()


def test_ids_of_a_local_server_that_come_again_are_other_messages(trace: Trace, project: Path) -> None:
    """A scripted or a local model counts from the start in every process; such ids are not the same message."""
    first, second = project / f"{FIRST}.jsonl", project / f"{SECOND}.jsonl"
    first.write_bytes(
        lines(
            prompt(FIRST, "One", 0),
            answer(FIRST, "msg_0", 1, spent=(100, 1)),
            prompt(FIRST, "Two", 10),
            answer(FIRST, "msg_0", 11, spent=(100, 2)),
        )
    )
    second.write_bytes(lines(prompt(SECOND, "Three", 20), answer(SECOND, "msg_0", 21, spent=(100, 3))))

    trace.take(first, second)

    assert {name(FIRST): 203, name(SECOND): 103} == trace.tokens()


def test_a_subagent_has_a_lane_of_its_own_and_counts_once(trace: Trace, project: Path) -> None:
    """Its file lies below its parent's; it is nested in the call that started it."""
    main = project / f"{FIRST}.jsonl"
    nested = project / FIRST / "subagents" / "agent-ab12.jsonl"
    nested.parent.mkdir(parents=True)
    task = {"type": "tool_use", "id": "task1", "name": "Task", "input": {"prompt": "Explore"}}
    main.write_bytes(
        lines(
            prompt(FIRST, "Do it", 0),
            answer(FIRST, "a", 1, task, spent=(100, 1)),
            returned(FIRST, "task1", 9),
            answer(FIRST, "b", 10, spent=(100, 2)),
        )
    )
    side: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
    nested.write_bytes(
        lines(
            prompt(FIRST, "Explore", 2, **side),
            answer(FIRST, "n", 3, tool_use("t"), spent=(1000, 3), **side),
            returned(FIRST, "t", 4, **side),
            answer(FIRST, "m", 5, spent=(1000, 4), **side),
        )
    )
    nested.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": "task1"}))

    trace.take(project)

    assert {name(FIRST): 101 + 102 + 1003 + 1004} == trace.tokens()
    assert [("Explore ab12", 2007), ("claude_code", 203)] == trace.rows(
        "SELECT name, tokens FROM events WHERE type = 'agent_end' ORDER BY name"
    )
    assert [("Task: Explore",)] == trace.rows(
        "SELECT parent.name FROM events AS start JOIN events AS parent ON parent.event_id = start.parent_id"
        " WHERE start.type = 'agent_start' AND start.name = 'Explore ab12'"
    )
    assert [("Explore ab12",)] == trace.rows(
        "SELECT json_extract(payload_json, '$.agent') FROM events WHERE type = 'tool_call' AND name = 'Bash: ls'"
    )


def test_what_a_subagent_is_may_be_told_later(trace: Trace, project: Path) -> None:
    """The file beside its transcript may be written after the transcript was begun."""
    nested = project / FIRST / "subagents" / "agent-ab12.jsonl"
    nested.parent.mkdir(parents=True)
    side: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
    nested.write_bytes(lines(prompt(FIRST, "Explore", 2, **side), answer(FIRST, "n", 3, spent=(1000, 3), **side)))
    trace.take(project)
    nested.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore"}))
    with nested.open("ab") as stream:
        stream.write(lines(answer(FIRST, "m", 5, spent=(1000, 4), **side)))

    trace.take(project)

    assert [("Explore ab12", 2007)] == trace.rows("SELECT name, tokens FROM events WHERE type = 'agent_end'")


def test_a_message_in_the_parent_s_file_and_the_subagent_s_counts_once(trace: Trace, project: Path) -> None:
    """Some versions wrote a sub-agent into both; it is the sub-agent's."""
    main, nested = project / f"{FIRST}.jsonl", project / "agent-ab12.jsonl"
    side: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
    both = [prompt(FIRST, "Explore", 2, **side), answer(FIRST, "n", 3, spent=(1000, 3), **side)]
    main.write_bytes(lines(prompt(FIRST, "Do it", 0), *both, answer(FIRST, "a", 10, spent=(100, 1))))
    nested.write_bytes(lines(*both))

    trace.take(project)

    assert {name(FIRST): 101 + 1003} == trace.tokens()
    assert [(1003,), (101,)] == trace.rows("SELECT tokens FROM events WHERE type = 'agent_end' ORDER BY started_at")


def test_an_old_sidechain_in_the_parent_s_file_is_a_lane(trace: Trace, project: Path) -> None:
    """Without an id of the agent, the lines hang together by their parents."""
    main = project / f"{FIRST}.jsonl"
    side = prompt(FIRST, "Explore", 2, isSidechain=True, uuid="s1", parentUuid=None)
    told = answer(FIRST, "n", 3, spent=(1000, 3), isSidechain=True, uuid="s2", parentUuid="s1")
    main.write_bytes(lines(prompt(FIRST, "Do it", 0), side, told, answer(FIRST, "a", 10, spent=(100, 1))))

    trace.take(main)

    assert [("agent s1", 1003), ("claude_code", 101)] == trace.rows(
        "SELECT name, tokens FROM events WHERE type = 'agent_end' ORDER BY name"
    )


def test_how_a_turn_ended(trace: Trace, project: Path) -> None:
    """An interruption, a refusal, a reply that was cut, and a record that stops are not answers."""
    refused = answer(FIRST, "e", 31)
    refused["message"] |= {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 400"}]}
    cut = answer(FIRST, "c", 41)
    cut["message"]["stop_reason"] = "max_tokens"
    (project / f"{FIRST}.jsonl").write_bytes(
        lines(
            prompt(FIRST, "One", 10),
            answer(FIRST, "a", 11, tool_use("t1")),
            prompt(FIRST, "[Request interrupted by user for tool use]", 12),
            prompt(FIRST, "Two", 30),
            answer(FIRST, "b", 30.5, tool_use("t2")),
            {**refused, "isApiErrorMessage": True, "error": "invalid_request"},
            prompt(FIRST, "Three", 40),
            cut,
            prompt(FIRST, "Four", 50),
            answer(FIRST, "d", 51, tool_use("t3")),
        )
    )

    trace.take(project)

    ends = [(end["sends"][0]["verdict"], end["sends"][0]["error"]) for end in trace.payloads("agent_end")]
    assert [
        ("aborted", "the turn was interrupted"),
        ("provider_error", "API Error: 400"),
        ("cut_off", None),
        ("incomplete", None),
    ] == ends
    assert {name(FIRST): "fail"} == trace.statuses()
    assert [True, True, True] == [call["interrupted"] for call in trace.payloads("tool_call")]


def test_what_is_no_prompt(trace: Trace, project: Path) -> None:
    """Words that the program puts in the user's mouth begin no turn; a command without an answer is none either."""
    (project / f"{FIRST}.jsonl").write_bytes(
        lines(
            prompt(FIRST, "<command-name>/clear</command-name>", 0),
            prompt(FIRST, "Caveat: the messages below were made by the user", 1, isMeta=True),
            prompt(FIRST, "<local-command-stdout>done</local-command-stdout>", 2),
            prompt(FIRST, "Real", 3),
            answer(FIRST, "a", 4),
            prompt(FIRST, "This session is being continued", 5, isCompactSummary=True),
            answer(FIRST, "b", 6),
        )
    )

    trace.take(project)

    assert ["Real"] == [start["prompt"] for start in trace.payloads("agent_start")]


def test_a_session_without_an_answer_is_there_all_the_same(trace: Trace, project: Path) -> None:
    """The prompt stands for it."""
    (project / f"{FIRST}.jsonl").write_bytes(lines(prompt(FIRST, "Anybody there?", 0)))

    trace.take(project)

    assert [("Anybody there?", "fail", 0)] == trace.rows("SELECT request, status, total_tokens FROM sessions")


def test_money_is_estimated_and_never_billed(trace: Trace, project: Path) -> None:
    """A transcript names no money: there is an estimate with the list it is from, and none for an unknown model."""
    pytest.importorskip("genai_prices")
    unknown = answer(SECOND, "b", 11, spent=(1000, 100))
    unknown["message"]["model"] = "my-own-model"
    (project / f"{FIRST}.jsonl").write_bytes(lines(prompt(FIRST, "A", 0), answer(FIRST, "a", 1, spent=(1000, 100))))
    (project / f"{SECOND}.jsonl").write_bytes(lines(prompt(SECOND, "B", 10), unknown))

    trace.take(project)

    first, second = trace.rows(
        "SELECT total_cost, estimated_cost, price_catalogue, cost_basis FROM sessions ORDER BY started_at"
    )
    assert (None, 0.0045, "estimated") == (first[0], first[1], first[3])
    assert first[2].startswith("genai-prices ")
    assert (None, None, None, "unknown") == second
    assert [None, None] == [end["cost"] for end in trace.payloads("agent_end")]


def test_compact_spacing_and_separators_do_not_matter(trace: Trace, project: Path) -> None:
    """The lines that matter are found however they are written; a raw line separator ends no record."""
    records = [prompt(FIRST, "A\u2028B", 0), answer(FIRST, "a", 1)]
    text = "\n".join(json.dumps(record, separators=(",", ":"), ensure_ascii=False) for record in records)
    (project / f"{FIRST}.jsonl").write_bytes(text.encode() + b"\n")

    report = trace.take(project)

    assert [("A\u2028B", 15)] == trace.rows("SELECT request, total_tokens FROM sessions")
    assert [] == report.damaged


def test_moment_is_what_the_agents_write() -> None:
    """The lab's times are of the shape that is read the short way."""
    assert "2026-03-01T01:01:01.500Z" == moment(3661.5)


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999-12:00", "0001-01-01T00:00:00.000+12:00", 1e300, -1])
def test_a_time_that_is_in_no_calendar(trace: Trace, tmp_path: Path, at: object) -> None:
    """It is no time; what it stands beside counts."""
    (tmp_path / f"{FIRST}.jsonl").write_bytes(
        lines(prompt(FIRST, "One", 1), answer(FIRST, "a", 2) | {"timestamp": at}, answer(FIRST, "b", 3))
    )

    trace.take(tmp_path / f"{FIRST}.jsonl")

    assert [30] == list(trace.tokens().values())


def test_more_calls_are_open_than_can_be_remembered(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read anew when it has grown, and comes to the same."""
    monkeypatch.setattr("agent_workflow.tracer._json._MAX_VALUE_CHARACTERS", 5_000)
    called = [tool_use(f"t{number}", f"{number}" * 1_000) for number in range(8)]
    file = tmp_path / f"{FIRST}.jsonl"
    file.write_bytes(lines(prompt(FIRST, "One", 0), *(answer(FIRST, "a", 1, call) for call in called)))
    trace.take(file)
    with file.open("ab") as stream:
        stream.write(lines(returned(FIRST, "t1", 2), answer(FIRST, "b", 3)))

    trace.take(file)

    assert [30] == list(trace.tokens().values())
    assert [True] == [call["ok"] for call in trace.payloads("tool_call") if "interrupted" not in call]
