"""What is left of 1,000 acknowledged events when their producer is killed.

usage: python benchmarks/tracer/durability.py [ROUNDS] -> one JSON document
"""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

EVENTS = 1_000
PRODUCER = """
import os, sys
from agent_workflow.tracer import Tracer
tracer = Tracer(sys.argv[1] + "/sssf.db", sys.argv[1], "run1")
for n in range(int(sys.argv[2])):
    print(tracer.event("log", "step", {"n": n}), flush=True)
print("now", flush=True)
while True:
    tracer.event("log", "more", {})
"""


def main() -> None:
    """Kill a producer after it was told that 1,000 events are recorded, and count them in both places."""
    from agent_workflow.tracer import TraceReader

    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    kept_in_file, kept_in_database = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            process = subprocess.Popen(
                [sys.executable, "-c", PRODUCER, folder, str(EVENTS)], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            told = [line.strip() for line in iter(process.stdout.readline, "now\n")]
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            lines = (Path(folder) / "sessions/run1/events.jsonl").read_bytes().split(b"\n")[:-1]
            in_file = {json.loads(line)["event_id"] for line in lines}
            with TraceReader(Path(folder) / "sssf.db") as reader:
                in_database = {event["event_id"] for event in reader.events("run1", limit=10_000).events}
            kept_in_file.append(len(in_file & set(told)))
            kept_in_database.append(len(in_database & set(told)))
    print(json.dumps({"acknowledged": EVENTS, "kept_in_file": kept_in_file, "kept_in_database": kept_in_database}))


if __name__ == "__main__":
    main()
