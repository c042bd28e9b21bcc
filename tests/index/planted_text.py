"""Evidence full of text that the index may never keep, each piece marked for the place it stands in.

Every record here is valid unless it says otherwise, so the run is indexed and its text is met on the way.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .evidence_documents import (
    completion,
    completion_collection,
    execution_metrics,
    ledger_row,
    lifecycle_receipt,
    metrics_stage,
    process_result,
    run_provenance,
    session_status,
)
from .evidence_files import EvidenceRoot, RunDirectory, encode, moment
from .evidence_journals import (
    assignment_event,
    control_event,
    health_sample,
    incident_event,
    lifecycle_event,
    permission_event,
    remediation_event,
    session_message,
    steering_delivery,
    terminal_event,
)
from .evidence_runs import SEALED_WITH_CATALOG, write_live_run, write_sealed_run

MARK = "SECRET"


@dataclass
class Planted:
    """The texts that were planted, by the place they stand in."""

    places: list[str] = field(default_factory=list)

    def text(self, place: str) -> str:
        """Return a text for a place, as somebody could have written it there."""
        self.places.append(place)
        return f"{MARK}<{place}> the password is hunter2"

    def met_in(self, data: bytes) -> list[str]:
        """Return the places whose text, or what can be read of it, is in some bytes."""
        plain = data.decode("utf-8", "replace")
        met = [place for place in self.places if f"{MARK}<{place}>" in plain]
        return met or (["a part of some text"] if MARK in plain or "hunter2" in plain else [])


def claude_stream(planted: Planted) -> list[dict[str, Any]]:
    """Return what Claude Code prints, its texts planted."""
    text = planted.text
    call = {"type": "tool_use", "name": "Bash", "input": {"command": text("claude tool input")}}
    return [
        {
            "type": "system",
            "subtype": "init",
            "cwd": text("claude cwd"),
            "tools": [text("claude tool")],
        },
        {"type": "assistant", "message": {"content": [{"type": "text", "text": text("claude text")}]}},
        {"type": "assistant", "message": {"content": [call]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": text("claude result")}]}},
        {
            "type": "result",
            "subtype": "success",
            "result": text("claude final result"),
            "kind": text("claude kind"),
            "category": text("claude category"),
            "state": text("claude state"),
            "outcome": text("claude outcome"),
            "actor": text("claude actor"),
            "correlation_id": text("claude correlation"),
            "fingerprint": text("claude fingerprint"),
            "content_sha256": text("claude content digest"),
            "summary": text("claude summary"),
            "message_id": text("claude message id"),
        },
    ]


def codex_stream(planted: Planted) -> list[dict[str, Any]]:
    """Return what Codex prints, its texts planted, some of them where a name or a time is expected."""
    item = {"type": "command_execution", "command": planted.text("codex command")}
    return [
        {"type": "thread.started", "thread_id": planted.text("codex thread")},
        {"type": "item.completed", "item": item | {"aggregated_output": planted.text("codex output")}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": planted.text("codex message")}},
        {"type": planted.text("type that is prose"), "timestamp": planted.text("time that is prose")},
        {"event_id": planted.text("id that is prose"), "schema": planted.text("schema that is prose")},
        {"type": "result", "result": planted.text("codex result"), "failure_category": planted.text("codex failure")},
        {"type": "turn.completed", "timestamp": f"{moment(1)}\n{planted.text('behind a time')}"},
        {"schema": {"id": planted.text("schema that is an object")}, "type": [planted.text("type that is a list")]},
    ]


def plant_live_run(run: RunDirectory, planted: Planted) -> None:
    """Plant texts in every journal and document of a run that goes on."""
    name, text = run.session_id, planted.text
    write_live_run(run)
    run.append("terminal-events.jsonl", terminal_event(name, 70, content=text("terminal content")))
    run.append("messages.jsonl", session_message(name, 9, content=text("message content"), more=text("message extra")))
    run.append("control-events.jsonl", control_event(name, 9, content=text("control content")))
    run.append("events.jsonl", lifecycle_event(9, reason=text("lifecycle reason"), receipt_refs=[text("receipt ref")]))
    run.append("events.jsonl", lifecycle_event(10, summary=text("lifecycle extra"), result=text("lifecycle result")))
    run.append("steering-delivery.jsonl", steering_delivery(name, 9, reason=text("steering reason")))
    run.append(
        "assignments.jsonl",
        assignment_event(name, 9, summary=text("assignment summary"), tags=[text("tag")], files=[text("file")]),
    )
    run.append(
        "remediation-events.jsonl",
        remediation_event(name, 70, reason=text("remediation reason"), details={"a": text("remediation details")}),
    )
    run.append("incident-events.jsonl", incident_event(name, 70, evidence={"a": text("incident evidence")}))
    run.write_journal("executor-events.jsonl", [*claude_stream(planted), *codex_stream(planted)])
    run.write_journal(
        "control-intents.jsonl",
        [
            {
                "at": moment(1),
                "outcome": text("intent outcome"),
                "reason": text("intent reason"),
                "actor": text("intent"),
            }
        ],
    )
    run.write_journal(
        "moods.jsonl",
        [
            {"schema": "agent-workflow/mood-event/v7", "type": text("unknown type"), "summary": text("unknown summary")}
            | {"event_id": text("unknown id"), "actor": text("unknown actor"), "timestamp": text("unknown time")}
        ],
    )
    run.write("mood.json", {"schema": "agent-workflow/mood/v7", "status": text("unknown status")})
    run.write("result.json", {"schema": "their-own/result/v0", "answer": text("task result")})
    run.write("status.json", _status(name, planted))
    run.write("process-result.json", process_result(argv=[text("process argv")], stdout_spool=text("spool")))
    errors = [{"category": text("metric category"), "detail": text("metric detail")}]
    run.write("execution-metrics.json", execution_metrics(name, stages=[metrics_stage("total", errors=errors)]))
    run.write("prompt.md", text("prompt"))
    run.write("output.log", text("log"))
    run.write("executor-stderr.log", text("stderr"))
    run.write("patch.diff", text("patch"))


def _status(session_id: str, planted: Planted) -> dict[str, Any]:
    text = planted.text
    return session_status(
        session_id,
        terminal_error=text("terminal error"),
        policy_failures=[{"reason": text("policy failure")}],
        latest_health={"note": text("latest health")},
        latest_permission_event={"note": text("latest permission")},
        evaluation_error=text("evaluation error"),
        pane_command=text("pane command"),
        summary=text("status extra"),
        prompt=text("status prompt"),
    )


def plant_sealed_run(run: RunDirectory, planted: Planted) -> None:
    """Plant texts in the documents that only a sealed run has, and seal them."""
    name, text = run.session_id, planted.text
    write_sealed_run(run)
    run.write("prompt.md", text("sealed prompt"), mode=0o444)
    run.write("launch-prompt.md", text("launch prompt"), mode=0o444)
    run.write("completion.md", text("completion prose"), mode=0o444)
    run.write("executor-stderr.log", text("sealed stderr"), mode=0o444)
    done = completion(
        name,
        changed_files=[text("changed file")],
        criteria=[{"id": text("criterion"), "result": "pass", "evidence": [text("criterion evidence")]}],
        commands=[{"argv": [text("command")], "cwd": text("cwd"), "exit_code": 0, "receipt": text("command receipt")}],
        unresolved=[text("unresolved")],
        usage={"note": text("usage")},
    )
    run.write("completion.json", done, mode=0o400)
    errors = [text("validation error")]
    run.write("collections/completion.json", completion_collection(name, validation_errors=errors), mode=0o400)
    run.write(
        "run-provenance.json",
        run_provenance(name, argv=[text("provenance argv")], environment={"TOKEN": text("environment")}),
        mode=0o400,
    )
    launch = run.read("launch-contract.json")
    launch["command_plan"]["argv"] = [text("launch argv")]
    launch["prompt"]["source"] = text("prompt source")
    launch["runtime_policy"] = {"note": text("runtime policy")}
    run.write("launch-contract.json", launch, mode=0o444)
    run.write("ledger-row.json", ledger_row(name, failures=[text("ledger failure")]))
    receipt = run.seal(SEALED_WITH_CATALOG)
    reviewed = lifecycle_receipt(name, "reviewed", receipt, reason=text("review reason"))
    run.write("receipts/000001-reviewed.json", reviewed, mode=0o444)


def invalid_lines(planted: Planted) -> dict[str, bytes]:
    """Return lines that break JSON or a contract and hold a text, by what is wrong with them."""
    name, text = "bad-run", planted.text

    def incident(**changes: object) -> bytes:
        return encode(incident_event(name, 1, **changes)).rstrip(b"\n")

    return {
        "no JSON": text("no JSON").encode(),
        "cut off": incident(summary=text("cut off"))[:-5],
        "behind the record": incident() + text("behind").encode(),
        "wrong word": incident(severity=text("wrong word")),
        "wrong type": incident(category=[text("wrong type")]),
        "wrong pattern": incident(incident_id=text("wrong pattern")),
        "too long": incident(summary=text("too long") + "x" * 4096),
        "extra field": incident(mood=text("extra field")),
        "contract id": incident(schema="agent-workflow/" + text("contract id")),
        "duplicate key": incident(summary=text("duplicate"))[:-1] + f', "summary": "{text("duplicate 2")}"}}'.encode(),
        "lone surrogate": incident(summary=text("surrogate"))[:-1] + b', "x": "\\ud83d"}',
        "invalid UTF-8": incident(summary=text("bytes"))[:-1] + b', "x": "\xff"}',
        "NaN": incident(evidence={"a": float("nan"), "b": text("NaN")}),
        "text for a record": json.dumps(text("text for a record")).encode(),
        "permission": encode(permission_event(name, 1, state=text("permission")))[:-1],
        "health": encode(health_sample(name, 1, last_semantic_progress_source=text("health")))[:-1],
        "lifecycle": encode(lifecycle_event(1, dimension=[text("lifecycle")]))[:-1],
        "message": encode(session_message(name, 1, timestamp=[text("message")]))[:-1],
    }


def plant_host(path: Path, planted: Planted) -> EvidenceRoot:
    """Write a state root whose every run is full of planted text, the bad runs included."""
    root = EvidenceRoot.create(path)
    plant_live_run(root.run("live-run"), planted)
    plant_sealed_run(root.run("sealed-run"), planted)
    for number, line in enumerate(invalid_lines(planted).values()):
        bad = root.run(f"bad-{number:02d}")
        bad.write("status.json", session_status(bad.session_id))
        bad.write("incident-events.jsonl", line + b"\n")
        document = root.run(f"bad-document-{number:02d}")
        document.write("status.json", line)
    return root
