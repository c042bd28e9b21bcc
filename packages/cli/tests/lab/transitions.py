"""A run with a long journal."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path


def write_transitions(root: Path, session_id: str, count: int, day: int) -> None:
    """Write a run whose journal has so many records, a millisecond apart, from a day of April 2026 on."""
    folder = root / "runs" / session_id
    folder.mkdir(mode=0o700)
    begin = datetime(2026, 4, day, tzinfo=UTC)
    status = {
        "schema": "agent-workflow/session-status/v2", "session_id": session_id, "status": "running",
        "created_at": begin.isoformat(), "workdir": "/home/dev/shop", "prompt_path": "prompt.md",
        "log_path": "output.log",
    }  # fmt: skip
    (folder / "status.json").write_text(json.dumps(status))
    with (folder / "events.jsonl").open("w") as file:
        for number in range(1, count + 1):
            event = {
                "schema": "agent-workflow/lifecycle-event/v1", "sequence": number, "dimension": "execution",
                "timestamp": (begin + timedelta(milliseconds=number)).isoformat(timespec="milliseconds"),
                "prior": "running" if number > 1 else None, "new": "running", "actor": "test", "reason": "goes on",
                "receipt_refs": [],
            }  # fmt: skip
            file.write(json.dumps(event) + "\n")
