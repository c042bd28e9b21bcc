"""Agents that wait for a person: noticed wherever the prompt shows, told once, and left to the person."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from supervisor_lab import Host, UntracedRun, records
from waiting_agents import TerminalAgent, TracedAgent, now

SECRET = "launch-the-secret-rocket"
RULE = "─" * 60
CLAUDE_MARK, CODEX_MARK = "\u276f", "\u203a"

_CLAUDE = f"""\r
{RULE}\r
 Bash command\r
\r
   {SECRET}\r
\r
 Do you want to proceed?\r
 {CLAUDE_MARK} 1. Yes\r
   2. No\r
\r
 Esc to cancel"""
_CODEX = f"""\x1b[2J\x1b[30;1H  Would you like to run the following command?\x1b[32;1H  $ {SECRET}\
\x1b[34;1H\x1b[1m{CODEX_MARK} 1. Yes, proceed (y)\x1b[0m\x1b[35;1H  2. No (esc)\
\x1b[37;1H  Press enter to confirm or esc to cancel"""
_PI = f"""\r
{RULE}\r
 {SECRET}\r
 Allow?\r
\r
 → Yes\r
   No\r
\r
 ↑↓ navigate  enter select  escape/ctrl+c cancel\r
\r
{RULE}\r
/somewhere"""
DIALOGS = {
    "claude": (_CLAUDE, "Esc to cancel", "claude-approval-prompt/v1"),
    "codex": (_CODEX, "Press enter", "codex-approval-prompt/v1"),
    "pi": (_PI, "/somewhere", "pi-dialog-prompt/v1"),
    "another": (f"\r\nRun {SECRET}? [y/N] ", "[y/N]", "generic-confirmation/v1"),
}
ANSWERED = f"\x1b[2J\x1b[HDone.\r\n{RULE}\r\n> \r\n{RULE}\r\nready"


def permissions(directory: Path) -> list[tuple[str, str, str | None]]:
    """Return source, state and rule of the permission events in order."""
    found = records(directory / "permission-events.jsonl")
    return [(record["source"], record["state"], record["policy_rule_id"]) for record in found]


def waits(directory: Path) -> list[str]:
    """Return the states of the incident events of permission waits in order."""
    found = records(directory / "incident-events.jsonl")
    return [record["state"] for record in found if record["category"] == "permission_wait"]


def called(run: UntracedRun, executor: str) -> UntracedRun:
    """Name the program of a run."""
    launch = run.document("launch-contract.json")
    launch["command_plan"]["executor"] = executor
    (run.directory / "launch-contract.json").write_text(json.dumps(launch))
    return run


@pytest.fixture(params=DIALOGS)
def waiting(request: pytest.FixtureRequest, host: Host) -> Iterator[tuple[TerminalAgent, UntracedRun, str, str]]:
    """An agent at its dialog in a pseudo-terminal, its run, the rule that must see it, and what it shows last."""
    dialog, end, rule = DIALOGS[request.param]
    agent = TerminalAgent.start(host, dialog, ANSWERED, dialog)
    with closing(agent):
        run = called(host.run(executor=agent.process), request.param)
        host.look()
        agent.wait_to_show(end)
        agent.capture(run, now(host))
        yield agent, run, rule, end


def test_a_prompt_in_a_terminal_is_told_once(host: Host, waiting: tuple[TerminalAgent, UntracedRun, str, str]) -> None:
    """However often and by whom it is looked at: one permission event, one incident; nobody answers."""
    agent, run, rule, _ = waiting

    for _ in range(2):
        host.look(30)
        host.look_anew(30)

    assert [("terminal", "pending", rule)] == permissions(run.directory)
    assert ["open"] == waits(run.directory)
    assert "waiting" == host.look(30).health[0].condition
    assert "" == agent.was_answered
    assert agent.process.poll() is None


def test_a_prompt_that_a_person_answered_is_cleared_and_may_come_again(
    host: Host, waiting: tuple[TerminalAgent, UntracedRun, str, str]
) -> None:
    """The screen without it ends the wait; the same prompt later is a new one."""
    agent, run, rule, end = waiting
    host.look(30)
    agent.answer("y")
    agent.wait_to_show("ready")
    agent.capture(run, now(host))
    host.look(30)
    host.look_anew(30)
    after_answer = (permissions(run.directory), waits(run.directory))
    agent.answer("")
    agent.wait_to_show(end, times=2)
    agent.capture(run, now(host))
    host.look(30)

    pending, cleared = ("terminal", "pending", rule), ("terminal", "cleared", rule)
    assert ([pending, cleared], ["open", "resolved"]) == after_answer
    assert [pending, cleared, pending] == permissions(run.directory)
    assert ["open", "resolved", "open"] == waits(run.directory)
    assert "y\n\n" == agent.was_answered


def test_an_agent_at_a_prompt_is_neither_stalled_nor_signalled(
    host: Host, waiting: tuple[TerminalAgent, UntracedRun, str, str]
) -> None:
    """Hours of waiting for a person are no stall, even where stalled runs may be ended."""
    agent, run, _, _ = waiting
    host.settings = replace(host.settings, interrupt_stalled=True, terminate_stalled=True)

    for _ in range(6):
        host.look(3600)

    assert {"permission_wait"} == {record["category"] for record in run.records("incident-events.jsonl")}
    assert [] == run.records("remediation-events.jsonl")
    assert agent.process.poll() is None


def test_nothing_of_a_prompt_is_kept(host: Host, waiting: tuple[TerminalAgent, UntracedRun, str, str]) -> None:
    """Neither the journals nor the report hold the command that is asked about."""
    _, run, _, _ = waiting

    report = json.dumps(host.look(30).to_document())

    written = [path for path in run.directory.iterdir() if path.name != "terminal-events.jsonl"]
    assert SECRET in (run.directory / "terminal-events.jsonl").read_text()
    assert [] == [path.name for path in written if SECRET in path.read_text()]
    assert SECRET not in report


def test_a_person_who_is_asked_on_standard_error(host: Host) -> None:
    """The end of an unknown agent's standard error counts; a line after it ends the wait."""
    run = host.run()
    host.look()
    run.say("executor-stderr.log", "Approval required. Allow this command?\n")
    host.look(30)
    host.look(30)
    run.say("executor-stderr.log", "Approved by the operator.\n")
    host.look(30)

    rule = "generic-approval-question/v1"
    assert [("executor_stderr", "pending", rule), ("executor_stderr", "cleared", rule)] == permissions(run.directory)
    assert ["open", "resolved"] == waits(run.directory)


def test_a_request_in_a_stream(host: Host) -> None:
    """A tool that a person must allow is an open tool call and a wait all the same; the result ends it."""
    run = host.run(stream_format="claude-stream-json")
    host.look()
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": SECRET}}
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t1", "input": {"command": SECRET}}
    back = {"type": "tool_result", "tool_use_id": "t1", "content": "done", "is_error": False}
    run.say("executor-events.jsonl", _line(type="assistant", message={"content": [use]}))
    run.say("executor-events.jsonl", _line(type="control_request", request_id="r1", request=asked))
    host.look(30)
    host.look_anew(30)
    run.say("executor-events.jsonl", _line(type="user", message={"content": [back]}))
    host.look(30)
    host.look_anew(30)

    events = run.records("permission-events.jsonl")
    assert [("pending", "execute", "Bash"), ("cleared", "execute", "Bash")] == [
        (event["state"], event["operation"], event["target"]) for event in events
    ]
    assert ["open", "resolved"] == waits(run.directory)


def test_a_traced_agent(host: Host) -> None:
    """Of a traced run the raw files of its agents are read: a refusal in the stream, a prompt on standard error."""
    agent = TracedAgent.start(host)
    try:
        host.look()
        agent.record(type="tool_execution_start", toolCallId="c1", toolName="bash", args={"command": SECRET})
        told = {"content": [{"type": "text", "text": "Blocked by a rule"}], "details": {}}
        agent.record(type="tool_execution_end", toolCallId="c1", toolName="bash", result=told, isError=True)
        agent.say("Approval required. Allow this command?\n", to="stderr")  # only whole lines are stored
        for _ in range(2):
            host.look(30)
            host.look_anew(30)
        found = permissions(agent.run_directory)
        agent.say("Allowed.\n", to="stderr")
        host.look(30)
        found_later = permissions(agent.run_directory)
    finally:
        agent.stop()

    rule = "generic-approval-question/v1"
    expected = [("builder/stderr", "pending", rule), ("builder/stream", "denied", "pi-tool-blocked/v1")]
    assert expected == sorted(found)
    assert [*found, ("builder/stderr", "cleared", rule)] == found_later
    assert SECRET not in "".join(path.read_text() for path in agent.run_directory.iterdir() if path.is_file())


def _line(**fields: object) -> str:
    return json.dumps(fields) + "\n"
