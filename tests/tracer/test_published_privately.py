"""Where runs are published, for whose eyes, and what publishing can never do to a run."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from published import document, moves, verified
from tracer_lab import Project, processes_below

PLANTED = {
    "request": "PLANTEDrequest",
    "prompt": "PLANTEDprompt",
    "system": "PLANTEDsystem",
    "reply": "PLANTEDreply",
    "argument": "PLANTEDargument",
    "command": "PLANTEDcommand",
    "tool text": "PLANTEDtool",
    "error": "PLANTEDerror",
    "reason": "PLANTEDreason",
    "log": "PLANTEDlog",
    "note": "PLANTEDnote",
    "description": "PLANTEDdescription",
    "secret": "PLANTEDsecret",
}
FINISH = 'with phase("work"):\n    pass\nsys.exit(run.finish())\n'
BUILD = 'with phase("build", kind="agent", owner="builder") as ph:\n    ph.call(AgentCall(prompt="go"))\n'


def everything_in(folder: Path) -> bytes:
    """Return every byte and every name below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return b"".join([*(path.read_bytes() for path in files), *(os.fsencode(path) for path in folder.rglob("*"))])


def plant(project: Project, end: str) -> str:
    """Write a workflow that says every planted word somewhere."""
    project.environment["PLANT_TOKEN"] = PLANTED["secret"]
    (project.root / "system.md").write_text(PLANTED["system"])
    tool = {
        "name": "bash",
        "arguments": {"command": f"echo {PLANTED['tool text']} $PLANT_TOKEN # {PLANTED['command']}"},
    }
    reply = json.dumps({"summary": PLANTED["reply"], "notes_for_next_agent": PLANTED["note"]})
    project.script([{"text": PLANTED["reply"], "tools": [tool]}, {"text": reply}])
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text().replace("json}", "json, prompt_engineering: {system: system.md}}"))
    return f"""
with phase("request", kind="engineer", description="{PLANTED["description"]}") as ph:
    ph.log(input="{PLANTED["request"]}", message="{PLANTED["log"]}")
with phase("work-{PLANTED["secret"]}") as ph:
    ph.log("{PLANTED["log"]} {PLANTED["secret"]}")
def sharp(context):
    return GateReport("sharp", [Check("{PLANTED["argument"]}", True, "{PLANTED["note"]}")])
with phase("build", kind="agent", owner="builder") as ph:
    ph.call(AgentCall(prompt="{PLANTED["prompt"]}", gates=[sharp]))
{end}
"""


@pytest.mark.parametrize(
    "end",
    [
        "run.finish()",
        f"run.finish(accepted=False, reason='{PLANTED['reason']}')",
        f"raise ValueError('{PLANTED['error']}')",
        f"with phase('last'):\n    raise ValueError('{PLANTED['error']}')",
        f"sys.exit('{PLANTED['error']}')",
        "os.kill(os.getpid(), 9)",
    ],
    ids=["finish", "not accepted", "exception", "exception in a phase", "exit", "killed"],
)
def test_nothing_that_anybody_wrote_is_published(project: Project, end: str) -> None:
    """Prompts, replies, arguments, tool text, error messages and secrets stay in the session's directory."""
    project.run(plant(project, end), "run1")
    project.run(FINISH, "run2")
    verified(project.state_root)

    published = everything_in(project.state_root)

    kept = everything_in(project.files("run1"))
    assert {name for name, word in PLANTED.items() if word.encode() in kept} >= {"request", "prompt", "reply", "log"}
    assert [] == [name for name, word in PLANTED.items() if word.encode() in published]
    assert ["running", "success"] == moves(project.published("run1"), "phase:work-[redacted:PLANT_TOKEN]")


def test_a_refused_configuration_tells_nothing_of_its_content(project: Project) -> None:
    """What is wrong with it is in the trace."""
    project.configure("agents: [{name: builder, thinking: PLANTEDthinking}]\n")

    project.run("", "run1")

    assert b"PLANTED" not in everything_in(project.state_root)


def test_everything_is_for_its_owner_alone(project: Project) -> None:
    """Whatever the umask: folders 0700, files 0600 while the run goes on, read-only once it is sealed."""
    body = (
        'os.umask(0)\nwith phase("work"):\n'
        '    run_ = Path(os.environ["AGENT_WORKFLOW_STATE_ROOT"]) / "runs/run1"\n'
        "    print(sorted({oct(path.stat().st_mode & 0o777) for path in run_.iterdir()}))\n"
        "sys.exit(run.finish())\n"
    )

    done = project.run(body, "run1")

    assert "['0o600']" == done.out.strip()
    run = project.published("run1")
    folders = (project.state_root, run.parent, run)
    assert {0o700} == {stat.S_IMODE(path.stat().st_mode) for path in folders}
    assert {0o444} == {stat.S_IMODE(path.stat().st_mode) for path in run.iterdir()}


@pytest.mark.parametrize(
    "text",
    [
        "evidence: {publish: false}",
        "evidence: {publish: 'no'}",
        "evidence: off",
        "evidence: {",
        "evidence: {state_root: 7}",
    ],
)
def test_publishing_that_is_switched_off(project: Project, text: str) -> None:
    """The state root is not even made; neither is it when the configuration's word on that cannot be understood."""
    project.configure(f"{text}\nagents: []\n")

    project.run(FINISH, "run1")

    assert not project.state_root.exists()
    assert not (project.files("run1") / "evidence.json").exists()
    assert not (project.data_dir / "unsealed").exists()


def test_the_configuration_names_the_state_root(project: Project, tmp_path: Path) -> None:
    """A relative one lies in the repository; the environment's word comes first."""
    project.configure("evidence: {state_root: kept}\nagents: []\n")
    project.run(FINISH, "run1")
    root = project.environment.pop("AGENT_WORKFLOW_STATE_ROOT")

    project.run(FINISH, "run2")
    project.environment["AGENT_WORKFLOW_STATE_ROOT"] = root

    assert (Path(root) / "runs/run1/final-receipt.json").exists()
    assert (project.root / "kept/runs/run2/final-receipt.json").exists()


def test_two_repositories_with_the_same_session(project: Project, tmp_path: Path) -> None:
    """Session ids are unique on a host: the second one's run has another name, and each leads to its own trace."""
    other = Project(tmp_path / "other", project.environment)
    other.root.mkdir()
    other.configure("agents: []\n")
    for each in (project, other):
        each.run(FINISH, "run1")

    rows = verified(project.state_root)

    traces = {document(project.published(name), "launch-contract.json")["trace"]["session_directory"] for name in rows}
    assert {str(project.files("run1")), str(other.files("run1"))} == traces
    assert [None, None] == [row["retry_of_run_id"] for row in rows.values()]
    assert all(name.startswith("run1") for name in rows)


def test_many_repositories_at_the_same_moment(project: Project, tmp_path: Path) -> None:
    """However many claim one name at once, each has a directory of its own."""
    repositories = []
    for number in range(8):
        repository = Project(tmp_path / f"other{number}", project.environment)
        repository.root.mkdir()
        repository.configure("agents: []\n")
        repositories.append(repository)

    processes = [repository.start(FINISH, "run1") for repository in repositories]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in processes]

    assert [(b"", 0)] * 8 == ended
    assert 8 == len(verified(project.state_root))


def test_an_archived_run_keeps_its_name(project: Project) -> None:
    """A name in the archive is taken as well."""
    (project.state_root / "archive/run1").mkdir(parents=True)
    project.state_root.chmod(0o700)

    project.run(FINISH, "run1")

    (run,) = (project.state_root / "runs").iterdir()
    assert run.name.startswith("run1-")


@pytest.mark.parametrize("fault", ["writable by others", "a file", "a link"])
def test_a_state_root_that_cannot_be_trusted(project: Project, fault: str) -> None:
    """The run goes on unpublished, says so once, and keeps that in its trace."""
    if fault == "writable by others":
        project.state_root.mkdir()
        project.state_root.chmod(0o777)
    elif fault == "a file":
        project.state_root.touch()
    else:
        (project.root.parent / "elsewhere").mkdir()
        project.state_root.symlink_to(project.root.parent / "elsewhere")

    done = project.run(FINISH, "run1")

    assert 0 == done.code
    assert 1 == done.err.count("\n")
    assert "is not published any further" in done.err
    assert [False] == [event["payload"]["published"] for event in project.events("run1", "log")]
    assert "success" == project.session("run1")["status"]
    assert not (project.state_root / "runs").exists()


@pytest.mark.parametrize("room", range(0, 40, 4))
def test_a_full_disk_does_not_fail_the_run(project: Project, mount_disk: Callable[[str], Path], room: int) -> None:
    """Wherever the room ends, the run succeeds, no seal is wrong, and with room again everything is sealed."""
    full_disk = mount_disk("64k")
    project.environment["AGENT_WORKFLOW_STATE_ROOT"] = str(full_disk / "state")
    filler = full_disk / "filler"
    filler.write_bytes(b"x" * (60 - room) * 1024)

    done = project.run(FINISH, "run1")
    sealed = project.published("run1") / "final-receipt.json"
    was_sealed = sealed.exists()
    filler.unlink()
    project.run(FINISH, "run2")

    assert 0 == done.code
    assert was_sealed == ("not published" not in done.err), done.err
    rows = verified_on(full_disk, project)
    assert rows in ({"run2"}, {"run1", "run2"})
    assert not was_sealed or "run1" in rows


def verified_on(disk: Path, project: Project) -> set[str]:
    """Let the index judge a copy: there is no room for a database."""
    copy = project.root.parent / "copy"
    subprocess.run(["cp", "-a", str(disk / "state"), str(copy)], check=True)
    return set(verified(copy))


def test_a_run_directory_that_disappears(project: Project) -> None:
    """Somebody who deletes what is being published does not hurt the run."""
    body = 'with phase("work"):\n    import shutil\n    shutil.rmtree(os.environ["AGENT_WORKFLOW_STATE_ROOT"])\nsys.exit(run.finish())\n'  # noqa: E501 - a program in one piece

    done = project.run(body, "run1")
    again = project.run(FINISH, "run2")

    assert 0 == done.code
    assert 1 == done.err.count("not published any further")
    assert (0, "") == (again.code, again.err)


def test_somebody_keeps_the_run_locked(project: Project) -> None:
    """A supervisor that hangs holds up no phase: what could not be told is told later, in order."""
    body = """
import fcntl
with phase("one"):
    pass
holder = os.fork()
if holder == 0:
    fcntl.flock(os.open(Path(os.environ["AGENT_WORKFLOW_STATE_ROOT"]) / "runs/run1", os.O_RDONLY), fcntl.LOCK_EX)
    Path("locked").touch()
    signal.pause()
    os._exit(0)
while not Path("locked").exists():
    time.sleep(0.01)
with phase("two"):
    pass
os.kill(holder, signal.SIGKILL)
os.waitpid(holder, 0)
sys.exit(run.finish())
"""
    done = project.run(body, "run1")

    assert (0, "") == (done.code, done.err)
    assert ["running", "success"] == moves(project.published("run1"), "phase:two")
    assert "run1" in verified(project.state_root)


def test_what_was_not_told_is_told_when_leaving(project: Project) -> None:
    """A process that leaves others at work tells why its phase failed, though the run was locked at that time."""
    wait = "deadline = time.monotonic() + 120\nwhile not Path('{}').exists() and time.monotonic() < deadline:\n    time.sleep(0.02)\n"  # noqa: E501 - a program in one piece
    stays = project.start("Path('in').touch()\n" + wait.format("go") + "sys.exit(run.finish())\n", "run1")
    project.wait_for((project.root / "in").exists)
    body = """
from agent_workflow.tracer.evidence import _publisher
from agent_workflow.tracer.evidence._errors import RunIsBusy
real = _publisher.run_lock
def busy(*args, **options):
    raise RunIsBusy("somebody has it")
_publisher.run_lock = busy
try:
    with phase("build") as ph:
        raise ProviderError("refused")
except ProviderError:
    pass
_publisher.run_lock = real
sys.exit(run.finish())
"""
    leaves = project.run(body, "run1")
    (project.root / "go").touch()
    stays.communicate(timeout=120)

    assert (1, 0) == (leaves.code, leaves.err.count("published"))
    assert ["running", "fail"] == moves(project.published("run1"), "phase:build")
    assert "provider_error" == document(project.published("run1"), "final-status.json")["failure_category"]


def test_agents_find_no_way_to_the_evidence(project: Project) -> None:
    """Nothing of publishing is left open or running when an agent is started."""
    project.script([{"text": '{"summary": "ok"}', "tools": [{"name": "bash", "arguments": {"command": "ls -l /proc/self/fd"}}]}, {"text": '{"summary": "ok"}'}])  # fmt: skip # noqa: E501

    project.run(BUILD + "sys.exit(run.finish())\n", "run1")

    seen = project.events("run1", "tool_call")[0]["payload"]["result_snippet"]
    assert str(project.state_root) not in seen
    assert {} == processes_below(project.root)


def test_git_that_hangs_or_lies(project: Project, tmp_path: Path) -> None:
    """The launch contract says what git says, and nothing where git does not answer."""
    commit = [
        "git",
        "-c",
        "user.name=dev",
        "-c",
        "user.email=dev@example.org",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]
    subprocess.run(commit, cwd=project.root, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project.root, check=True, capture_output=True, text=True)
    project.environment["GIT_DIR"] = "/nonexistent"  # as inside of a hook of another repository
    project.run(FINISH, "run1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin/git").chmod(0o700)
    project.environment["PATH"] = f"{tmp_path / 'bin'}:{project.environment['PATH']}"

    project.run(FINISH, "run2")

    known, unknown = (
        document(project.published(name), "launch-contract.json")["worktree"] for name in ("run1", "run2")
    )
    assert head.stdout.strip() == known["source_revision"]
    assert known["branch"]
    assert known["dirty_at_launch"] is True
    assert (None, None, None) == (unknown["source_revision"], unknown["branch"], unknown["dirty_at_launch"])
