"""Shortages, captures that are no longer whole, and prompts: opened once, resolved once, never answered."""

import json
from dataclasses import replace

from supervisor_lab import Host, UntracedRun, wait_for

from agent_workflow.evidence_schemas import PermissionEvent
from agent_workflow.index_store import query, sync


def told(run: UntracedRun) -> list[tuple[str, str]]:
    """Return category and state of the incident events in order."""
    return [(record["category"], record["state"]) for record in run.records("incident-events.jsonl")]


def test_shortage_of_the_host(host: Host) -> None:
    """One event for each resource that is short, and one when there is enough again."""
    run = host.run()
    plenty = host.settings
    host.settings = replace(plenty, least_memory_bytes=2**60, least_disk_bytes=2**60)
    for _ in range(3):
        host.look(1)
    host.settings = plenty
    for _ in range(2):
        host.look(1)

    assert [("resource_pressure", "open")] * 2 + [("resource_pressure", "resolved")] * 2 == told(run)
    assert ["memory", "disk"] == [record["evidence"]["resource"] for record in run.records("incident-events.jsonl")[:2]]


def test_agent_near_its_limit_of_open_files(host: Host) -> None:
    """What a process has open is compared with its own limit."""
    agent = host.python(
        "import os, resource, time\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "kept = [os.open('/dev/null', os.O_RDONLY) for _ in range(35)]\n"
        f"open({str(host.root.parent / 'full')!r}, 'x').close()\ntime.sleep(3600)"
    )
    wait_for((host.root.parent / "full").exists)
    run = host.run(executor=agent)
    for _ in range(2):
        host.look(1)

    assert [("resource_pressure", "open")] == told(run)
    evidence = run.records("incident-events.jsonl")[0]["evidence"]
    assert ("descriptors:executor", 40) == (evidence["resource"], evidence["limit"])


def test_capture_that_is_no_longer_whole(host: Host) -> None:
    """What the run's own system says of its capture is told once."""
    run = host.run()
    result = {"schema": "agent-workflow/process-result/v1", "stdout_truncated": True, "stderr_truncated": False}
    (run.directory / "process-result.json").write_text(json.dumps(result))
    for _ in range(3):
        host.look(1)

    assert [("output_capture_exhausted", "open")] == told(run)
    assert ["stdout"] == run.records("incident-events.jsonl")[0]["evidence"]["streams"]


def asked(call: str) -> str:
    """Write Claude Code's request to use a tool."""
    request = {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "tool_use_id": call,
        "input": {"command": "PLANTED-4711"},
    }
    return json.dumps({"type": "control_request", "request_id": f"r-{call}", "request": request}) + "\n"


def answered(call: str) -> str:
    """Write the result of a tool: it was allowed, and ran."""
    result = {"type": "tool_result", "tool_use_id": call, "content": "done"}
    return json.dumps({"type": "user", "message": {"content": [result]}}) + "\n"


def test_prompt_in_a_stream(host: Host) -> None:
    """Pending once, cleared once; it explains the silence; the index counts it while it is open."""
    run = host.run(stream_format="claude-stream-json")
    run.say("executor-events.jsonl", asked("t1"))
    host.look()
    for _ in range(4):
        host.look_anew(400)
    (run.directory / "launch-contract.json").unlink()  # the lab's holds only what a supervisor reads
    sync(host.root)
    while_open = query(host.root, "permissions").to_document()["rows"]
    made = run.records("permission-events.jsonl")
    incidents = told(run)

    assert ["pending"] == [record["state"] for record in made]
    assert [("permission_wait", "open")] == incidents
    assert isinstance(while_open, list)
    assert 1 == len(while_open)
    PermissionEvent.model_validate(made[0])
    assert "PLANTED" not in json.dumps(made)


def test_answered_prompt_is_cleared(host: Host) -> None:
    """Whoever answered, the wait is over; the same tool asked for again is a new prompt."""
    run = host.run(stream_format="claude-stream-json")
    for line in (asked("t1"), answered("t1"), asked("t2")):
        run.say("executor-events.jsonl", line)
        host.look(1)
        host.look_anew(1)

    states = [record["state"] for record in run.records("permission-events.jsonl")]
    assert ["pending", "cleared", "pending"] == states
    assert [("permission_wait", "open"), ("permission_wait", "resolved"), ("permission_wait", "open")] == told(run)


def test_prompt_of_an_agent_that_died_is_cleared(host: Host) -> None:
    """Nobody waits any more when the agent is gone."""
    run = host.run(stream_format="claude-stream-json")
    run.say("executor-events.jsonl", asked("t1"))
    host.look()
    run.executor.kill()
    run.executor.wait()
    host.look(1)

    assert ["pending", "cleared"] == [record["state"] for record in run.records("permission-events.jsonl")]
    assert [("permission_wait", "open"), ("permission_wait", "resolved")] == told(run)
