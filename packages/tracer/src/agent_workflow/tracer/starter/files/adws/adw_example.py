"""An example workflow: a request, a plan, a build, a check.

Start it with ``python3 adws/adw_example.py "Add a greeting"``; a second argument names or joins a session.
"""

import subprocess
import sys

from agent_workflow.tracer import (
    AgentCall,
    BuildOutput,
    PhaseParams,
    PlanOutput,
    artifacts_exist,
    diff_matches_claims,
    ensure,
    files_non_empty,
    load_config,
)

request = sys.argv[1] if len(sys.argv) > 1 else "Add a greeting"
run = ensure(load_config("adws/sssf.config.yaml"), sys.argv[2] if len(sys.argv) > 2 else None)
sys.stdout.write(f"session {run.adw_id}\n")

with run.phase(
    PhaseParams(name="request", kind="engineer", owner=run.engineer, description="Take what the engineer asks for")
) as ph:
    ph.log(input=request)

with run.phase(
    PhaseParams(name="plan", kind="agent", owner="planner", description="Turn the request into a plan", retries=1)
) as ph:
    plan = ph.call(AgentCall(output_type=PlanOutput, prompt=request, gates=[artifacts_exist, files_non_empty]))

with run.phase(
    PhaseParams(name="build", kind="agent", owner="builder", description="Write the code of the plan", retries=1)
) as ph:
    build = ph.call(
        AgentCall(output_type=BuildOutput, prompt=request, previous=plan, gates=[artifacts_exist, diff_matches_claims])
    )

with run.phase(
    PhaseParams(name="check", kind="code", owner="checks", description="Run what was built and look at its words")
) as ph:
    done = subprocess.run([sys.executable, "greet.py"], capture_output=True, text=True, check=False)
    ph.log(command="greet.py", exit=done.returncode, output=done.stdout)

works = done.returncode == 0 and "Hello" in done.stdout
sys.exit(run.finish(accepted=works, reason="" if works else "greet.py does not greet"))
