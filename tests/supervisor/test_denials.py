"""A refusal is told once: it ends the wait by itself, and is not told again while the stream moves on."""

import json

from supervisor_lab import Host, UntracedRun

FILLER = json.dumps({"type": "system", "subtype": "status", "text": "x" * 4_000}) + "\n"


def line(**fields: object) -> str:
    """Write one record of a stream."""
    return json.dumps(fields) + "\n"


def asked(call: str) -> str:
    """Write Claude Code's request to use a tool."""
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": call, "input": {"command": "make"}}
    return line(type="control_request", request_id=f"r-{call}", request=request)


def refused(call: str) -> str:
    """Write the end of a turn in which a tool was refused."""
    denial = {"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": "make"}}
    return line(type="result", subtype="success", is_error=False, result="", permission_denials=[denial])


def states(run: UntracedRun) -> list[str]:
    """Return the states of the permission events in order."""
    return [record["state"] for record in run.records("permission-events.jsonl")]


def test_a_denial_ends_the_wait(host: Host) -> None:
    """What was pending and then denied is not told to be cleared on top: the last word on it is the denial."""
    run = host.run(stream_format="claude-stream-json")
    run.say("executor-events.jsonl", asked("t1"))
    host.look()
    run.say("executor-events.jsonl", refused("t1"))
    for _ in range(2):
        host.look(30)
        host.look_anew(30)

    assert ["pending", "denied"] == states(run)


def test_a_denial_is_told_once_however_often_it_is_named(host: Host) -> None:
    """A later turn may name it again, when the first place is no longer in the part of the stream that is read."""
    run = host.run(stream_format="claude-stream-json")
    run.say("executor-events.jsonl", refused("t1"))
    host.look()
    run.say("executor-events.jsonl", FILLER * 80 + refused("t1"))
    for _ in range(2):
        host.look(30)
        host.look_anew(30)

    assert ["denied"] == states(run)
