"""Runs that are cut off: what every one of them leaves behind, however it ended."""

import json
import subprocess

from tracer_lab import TABLES, Project

from agent_workflow.tracer import rebuild

ACKS = """
def work(ph, count):
    for n in range(count):
        print("ack", ph.log(n=n), flush=True)
"""
HANG = (
    ACKS
    + """
with phase("count") as ph:
    work(ph, 20)
with phase("build", kind="agent", owner="builder") as ph:
    ph.call(AgentCall(prompt="go"))
sys.exit(run.finish())
"""
)
HUNG_TOOL = [{"text": "waiting", "tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}]


def acknowledged(output: str) -> set[str]:
    """Return the events that the workflow was told are recorded."""
    return {line.split()[1] for line in output.splitlines() if line.startswith("ack ")}


def check_files(project: Project, adw_id: str, output: str) -> None:
    """Nothing acknowledged is missing, every file ends in a whole line, and the reserve is given back."""
    directory = project.files(adw_id)
    recorded = {json.loads(line)["event_id"] for line in (directory / "events.jsonl").read_bytes().split(b"\n")[:-1]}
    assert acknowledged(output) <= recorded
    for file in directory.rglob("*.jsonl"):
        assert file.read_bytes()[-1:] in (b"\n", b""), file
    assert not (directory / ".reserve").exists()


def check_closed(project: Project, adw_id: str, output: str, reason: str) -> None:
    """The session failed for the reason, its phases and processes are closed, and a rebuild says the same."""
    check_files(project, adw_id, output)
    assert "fail" == project.session(adw_id)["status"]
    assert project.session(adw_id)["ended_at"]
    assert {"success", "fail"} >= {row["status"] for row in project.rows("phases", adw_id)}
    assert [] == [row for row in project.rows("processes", adw_id) if row["ended_at"] is None]
    words = json.dumps([event["payload"] for event in project.events(adw_id, "error")])
    assert reason in words
    check_rebuilds(project)


def check_rebuilds(project: Project) -> None:
    """A database filled from the files has the rows that this one has."""
    before = project.everything()
    report = rebuild(project.db, project.data_dir)
    assert report.lost_nothing, report
    for table in TABLES:
        assert before[table] == project.everything()[table]


def start_hung(project: Project, adw_id: str = "run1") -> subprocess.Popen[bytes]:
    """Start a workflow whose agent hangs in a tool, and wait until it does and is recorded."""
    project.script(HUNG_TOOL)
    process = project.start(HANG, adw_id, start_new_session=True)
    project.wait_for_agent(adw_id)
    return process
