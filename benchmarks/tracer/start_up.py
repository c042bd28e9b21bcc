"""What it costs to import the tracer and to begin and end a run, published as evidence or not.

usage: python benchmarks/tracer/start_up.py [ROUNDS] -> one JSON document, CPU seconds, the best of the rounds
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = """
from agent_workflow.tracer import PhaseParams, ensure, load_config
import os
os.chdir(FOLDER)
run = ensure(load_config("sssf.config.yaml"))
with run.phase(PhaseParams(name="work", kind="code", owner="ci", description="Do a thing")) as ph:
    ph.log(n=1)
run.finish()
"""
PROGRAMS = {
    "python_alone": "pass",
    "import_tracer": "import agent_workflow.tracer",
    "import_every_public_name": "from agent_workflow.tracer import *",
    "code_only_run": RUN,
    "code_only_run_unpublished": RUN,
}


def main() -> None:
    """Measure each program's own process time."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    measured = {}
    for name, program in PROGRAMS.items():
        seconds = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                publish = "false" if name.endswith("unpublished") else "true"
                (Path(folder) / "sssf.config.yaml").write_text(f"agents: []\nevidence: {{publish: {publish}}}\n")
                environment = {**os.environ, "AGENT_WORKFLOW_STATE_ROOT": f"{folder}/state"}
                timed = f"FOLDER = {folder!r}\n{program}\nimport time\nprint(time.process_time())"
                done = subprocess.run(
                    [sys.executable, "-c", timed], env=environment, capture_output=True, text=True, check=True
                )
                seconds.append(float(done.stdout.split()[-1]))
        measured[name] = round(min(seconds), 3)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
