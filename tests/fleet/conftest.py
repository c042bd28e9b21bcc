"""Three hosts that have exported to one dataset, and the engines that read it."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from cells import view_of
from fleet_engines import JAVA_OPTIONS, Rows, ask, views_for
from three_hosts import export_all, sum_of_indexes, write_three_hosts

from agent_workflow.index_store import KINDS

START_SECONDS = 120.0


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Give the state roots by the names of their hosts; nobody changes them."""
    return write_three_hosts(tmp_path_factory.mktemp("hosts"))


@pytest.fixture(scope="session")
def dataset(roots: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the dataset that all of them exported everything to."""
    place = tmp_path_factory.mktemp("fleet") / "dataset"
    export_all(roots, place)
    return place


@pytest.fixture(scope="session")
def indexes(roots: dict[str, Path]) -> dict[str, Rows]:
    """Give what the three indexes answer together, by kind."""
    return sum_of_indexes(roots)


VIEWS = [view_of(kind) for kind in KINDS]


def _need(module: str) -> None:
    """Skip without an engine; where the gate asks for it, fail instead."""
    missing = find_spec(module) is None or (module == "pyspark" and shutil.which("java") is None)
    if missing and os.environ.get("AGENT_WORKFLOW_REQUIRE_ENGINES"):
        pytest.fail(f"{module}, or Java, is not installed, and AGENT_WORKFLOW_REQUIRE_ENGINES is set")
    if missing:
        pytest.skip(f"{module} is not installed: make engines")


@pytest.fixture(scope="session")
def chdb_answers(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """Give the rows of every view in chDB."""
    _need("chdb")
    return ask("ask_chdb.py", views_for("clickhouse", dataset, tmp_path_factory.mktemp("chdb")), VIEWS)


@pytest.fixture(scope="session")
def spark_master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the URL of a standalone Spark: a master and two workers on loopback, of processes of their own."""
    _need("pyspark")
    logs = tmp_path_factory.mktemp("spark")
    processes: list[subprocess.Popen[bytes]] = []
    try:
        master = _start(
            processes, logs, "master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        url = _wait_for(processes[0], master, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        for number in (1, 2):
            _start(
                *(processes, logs, f"worker-{number}", "worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"),
                *("--cores", "1", "--memory", "1g", "--work-dir", str(logs / f"work-{number}"), url),
            )
        _wait_for(processes[0], master, r"(Registering worker[\s\S]*Registering worker)")
        yield url
    finally:
        for process in reversed(processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(processes: list[subprocess.Popen[bytes]], logs: Path, name: str, main: str, *arguments: str) -> Path:
    """Start a daemon of Spark in a process group of its own; return its log."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = logs / f"{name}.log"
    environment = {n: v for n, v in os.environ.items() if not n.startswith("SPARK_")}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    environment |= {"JAVA_TOOL_OPTIONS": JAVA_OPTIONS}
    with log.open("wb") as output:
        processes.append(
            subprocess.Popen(
                [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=logs,
                start_new_session=True,
            )
        )
    return log


def _wait_for(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """Wait until a log says something; return the first group of it."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text(encoding="utf-8", errors="replace")
        if found := re.search(pattern, text):
            return found.group(1)
        assert process.poll() is None, f"Spark ended: {text[-2000:]}"
        time.sleep(0.1)
    raise AssertionError(f"Spark did not say {pattern!r} in time: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="session")
def spark_answers(dataset: Path, spark_master: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """Give the rows of every view in Spark, and the number of executors that it had."""
    views = views_for("spark", dataset, tmp_path_factory.mktemp("views"))
    return ask("ask_spark.py", views, VIEWS, spark_master)
