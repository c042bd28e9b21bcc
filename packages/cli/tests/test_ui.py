"""Which traces the web page serves when none are named."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_workflow import index_store

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytest.importorskip("agent_workflow.visualizer", reason="the page is an extra")

PROGRAM = str(Path(sys.executable).with_name("agent-workflow"))
Serve = Callable[..., tuple[list[str], list[str]]]


def make_trace(path: Path) -> Path:
    """Make a trace database with nothing in it but the table that makes it one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE sessions (adw_id TEXT PRIMARY KEY, started_at TEXT)")
    connection.close()
    return path


def publish(root: Path, number: int, database: Path | str) -> None:
    """Write a recorded workflow into a state root as it is while it lives."""
    run = root / "runs" / f"run-{number:03d}"
    run.mkdir(parents=True)
    for folder in (root, root / "runs"):
        folder.chmod(0o700)
    session: dict[str, Any] = dict.fromkeys(("agent_name", "agent_class", "tier", "retry_of"))
    launch = {
        "schema": "agent-workflow/traced-launch-contract/v1",
        "version": 1,
        "session": session | {"id": run.name, "created_at": f"2026-07-01T00:{number:02d}:00+00:00"},
        "workflow": {"name": "add-greeting"},
        "agents": [],
        "worktree": {"path": "/srv/shop", "source_revision": None, "branch": None, "dirty_at_launch": None},
        "runner": {"pid": 4000, "start_marker": None},
        "trace": {"adw_id": run.name, "database": str(database), "session_directory": "/srv/shop/sessions"},
        "tracer_version": "1.0.0",
    }
    (run / "launch-contract.json").write_text(json.dumps(launch))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Name a state root that is not there yet."""
    return tmp_path / "state"


@pytest.fixture
def serve(cli: "CommandLine", root: Path) -> Iterator[Serve]:
    """Start the page on any free port in a folder; gives the databases it serves and what it said until then."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path, *options: str) -> tuple[list[str], list[str]]:
        folder.mkdir(parents=True, exist_ok=True)
        command = [PROGRAM, "--state-root", str(root), "ui", "--port", "0", *options]
        process = subprocess.Popen(
            command, cwd=folder, env=cli.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        started.append(process)
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line.strip())
            if "serving" in line:
                address = line.split()[-1]
                with urllib.request.urlopen(f"{address}api/projects", timeout=240) as reply:
                    return [os.path.realpath(project["db"]) for project in json.load(reply)], said
        raise AssertionError(f"it did not start: {said}")

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=240)


def test_it_serves_the_repository_and_every_trace_that_runs_name(serve: Serve, root: Path, tmp_path: Path) -> None:
    """The repository's first, then those of the newest runs; each file once, and none that is gone."""
    own, shop, bank = (make_trace(tmp_path / name / "adws/adw_data/sssf.db") for name in ("own", "shop", "bank"))
    (tmp_path / "link").symlink_to(tmp_path / "shop")
    named: tuple[Path | str, ...] = (
        shop,
        tmp_path / "link/adws/adw_data/sssf.db",
        tmp_path / "gone.db",
        own,
        bank,
        "/srv/\0/sssf.db",
    )
    for number, database in enumerate(named):
        publish(root, number, database)
    index_store.sync(root)

    served, _ = serve(tmp_path / "own")

    assert [str(own), str(bank), str(shop)] == served


def test_a_named_database_is_served_alone(serve: Serve, root: Path, tmp_path: Path) -> None:
    """Who names one means it."""
    shop, bank = (make_trace(tmp_path / name / "sssf.db") for name in ("shop", "bank"))
    publish(root, 1, shop)
    index_store.sync(root)

    served, _ = serve(tmp_path / "somewhere", "--db", str(bank))

    assert [str(bank)] == served


def test_outside_of_a_repository_it_serves_the_traces_of_the_others(serve: Serve, root: Path, tmp_path: Path) -> None:
    """Inside of one that has none yet, it waits for the first as well."""
    shop = make_trace(tmp_path / "shop/sssf.db")
    publish(root, 1, shop)
    index_store.sync(root)
    (tmp_path / "new" / ".git").mkdir(parents=True)

    outside, said_outside = serve(tmp_path / "somewhere")
    inside, said_inside = serve(tmp_path / "new")

    assert ([str(shop)], 1) == (outside, len(said_outside))
    assert [str(tmp_path / "new/adws/adw_data/sssf.db"), str(shop)] == inside
    assert "the page shows the traces of other repositories" in said_inside[0]


def test_a_missing_index_is_no_error(serve: Serve, root: Path, tmp_path: Path) -> None:
    """Nor is it made."""
    own = make_trace(tmp_path / "own/adws/adw_data/sssf.db")

    served, said = serve(tmp_path / "own")

    assert ([str(own)], 1) == (served, len(said))
    assert not root.exists()


def test_a_damaged_index_is_told_and_stops_nothing(serve: Serve, root: Path, tmp_path: Path) -> None:
    """The page still shows the repository's trace."""
    own = make_trace(tmp_path / "own/adws/adw_data/sssf.db")
    publish(root, 1, own)
    index_store.sync(root)
    database = root / "index/agent-workflow.sqlite3"
    database.write_bytes(b"no database" * 1000)

    served, said = serve(tmp_path / "own")

    assert [str(own)] == served
    assert "the index cannot be asked for traces" in said[0]


def test_so_many_traces_and_no_more(serve: Serve, root: Path, tmp_path: Path) -> None:
    """Those of the newest runs, and it says that there are others."""
    for number in range(66):
        publish(root, number, make_trace(tmp_path / f"repository-{number}/sssf.db"))
    index_store.sync(root)

    served, said = serve(tmp_path / "somewhere")

    assert 64 == len(served)
    assert "66 repositories have traces; the page shows the newest 64" in said[0]
