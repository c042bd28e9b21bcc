"""Eight workflows at once into one database, while a reader polls."""

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tracer_lab import PREAMBLE, Project

from agent_workflow.tracer import NoTrace, TraceReader, rebuild

WRITERS = 8
EVENTS = 5_000


@pytest.mark.slow
def test_forty_thousand_events(project: Project) -> None:
    """Nothing is lost, nobody is told that the database is locked, and each session's events are in order."""
    body = (
        f"with phase('work') as ph:\n    for n in range({EVENTS - 2}):\n        ph.log(n=n)\nsys.exit(run.finish())\n"
    )
    processes = [project.start(body, f"run{n}") for n in range(WRITERS)]

    polled = poll(project, processes)
    ended = [(process.communicate(timeout=120), process.returncode) for process in processes]

    assert [0] * WRITERS == [code for _, code in ended]
    assert b"" == b"".join(err for (_, err), _ in ended)
    assert WRITERS * EVENTS == len(project.rows("events"))
    for n in range(WRITERS):
        numbers = [event["payload"]["n"] for event in project.events(f"run{n}", "log")]
        assert list(range(EVENTS - 2)) == numbers
        assert [event["event_id"] for event in project.events(f"run{n}")] == polled[f"run{n}"]
    check_rebuild_keeps_the_order(project)


def poll(project: Project, processes: list[subprocess.Popen[bytes]]) -> dict[str, list[str]]:
    """Read by cursor, as viewers do, until the writers have ended and all is read."""
    seen: dict[str, list[str]] = {f"run{n}": [] for n in range(WRITERS)}
    cursors = dict.fromkeys(seen, 0)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        is_over = all(process.poll() is not None for process in processes)
        fresh = 0
        try:
            with TraceReader(project.db) as reader:
                for adw_id in seen:
                    page = reader.events(adw_id, after=cursors[adw_id], limit=2000)
                    cursors[adw_id] = page.cursor
                    seen[adw_id].extend(event["event_id"] for event in page.events)
                    fresh += len(page.events)
        except NoTrace:
            fresh = 0
        if is_over and not fresh:
            break
        time.sleep(0.05)
    return seen


def check_rebuild_keeps_the_order(project: Project) -> None:
    """A rebuild gives the same events in the same order within each session, as a new generation."""
    before = {n: [event["event_id"] for event in project.events(f"run{n}")] for n in range(WRITERS)}
    with TraceReader(project.db) as reader:
        generation = reader.generation()

    report = rebuild(project.db, project.data_dir)

    assert generation != report.generation
    assert before == {n: [event["event_id"] for event in project.events(f"run{n}")] for n in range(WRITERS)}


OPENER = """
import sys, time
from pathlib import Path
from agent_workflow.tracer import Tracer
folder, name = Path(sys.argv[1]), sys.argv[2]
(folder / f"ready-{name}").touch()
deadline = time.monotonic() + 200
while not (folder / "go").exists() and time.monotonic() < deadline:
    pass
tracer = Tracer(folder / "sssf.db", folder, name, warn=lambda text: sys.exit(text))
tracer.event("log", "first")
tracer.close()
"""


def test_first_open_by_eight_at_once(project: Project, tmp_path: Path) -> None:
    """Eight processes that open a new database in the same moment all succeed, five times in a row."""
    for round_ in range(5):
        folder = tmp_path / str(round_)
        folder.mkdir()
        processes = [
            subprocess.Popen([sys.executable, "-c", OPENER, str(folder), f"run{n}"], stderr=subprocess.PIPE)
            for n in range(8)
        ]
        project.wait_for(partial(all_are_ready, folder))
        (folder / "go").touch()
        faults = [process.communicate(timeout=120)[1] for process in processes]

        assert [b""] * 8 == faults
        with TraceReader(folder / "sssf.db") as reader:
            assert 8 == sum(len(reader.events(f"run{n}").events) for n in range(8))


def all_are_ready(folder: Path) -> bool:
    """Tell whether all eight wait for the moment."""
    return len(list(folder.glob("ready-*"))) == 8


def test_joined_twice_at_once(project: Project) -> None:
    """Three workflows in one session at once get phases of their own, none overwritten."""
    body = "for n in range(30):\n    with phase('work') as ph:\n        ph.log(n=n)\nsys.exit(run.finish())\n"
    processes = [project.start(body, "both") for _ in range(3)]
    faults = [process.communicate(timeout=120)[1] for process in processes]

    assert [b""] * 3 == faults
    assert list(range(1, 91)) == [row["seq"] for row in project.rows("phases")]
    assert 90 == len({row["phase_id"] for row in project.rows("phases")})
    assert 90 == len(project.events("both", "log"))
    assert "success" == project.session("both")["status"]


OVERTAKEN = """
import subprocess, sys
from agent_workflow.tracer import _ensure
settle = _ensure._settle
def overtaken(config, **which):
    if "only" in which:
        subprocess.run([sys.executable, "adws/adw_first.py", "both"], check=True)
    settle(config, **which)
_ensure._settle = overtaken
"""


def test_overtaken_while_it_opens_a_session(project: Project) -> None:
    """A workflow that found no session, and was overtaken by another one in the same session, joins that."""
    first = 'run.set_request("Do it")\nwith phase("one") as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n'
    (project.root / "adws/adw_first.py").write_text(PREAMBLE + first)
    script = project.root / "adws/adw_second.py"
    script.write_text(OVERTAKEN + PREAMBLE + 'with phase("two") as ph:\n    pass\nsys.exit(run.finish())\n')

    done = subprocess.run([sys.executable, script, "both"], cwd=project.root, env=project.environment, check=False)

    session = project.session("both")
    assert (0, "success") == (done.returncode, session["status"])
    assert ("adw_first + adw_second", "Do it") == (session["adw_name"], session["request"])
    assert session["started_at"] <= project.rows("phases", "both")[0]["started_at"]
    assert [(1, "one"), (2, "two")] == [(row["seq"], row["name"]) for row in project.rows("phases", "both")]
