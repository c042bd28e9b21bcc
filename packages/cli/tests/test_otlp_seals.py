"""What the index knows of an exported session: its run, and whether that is sealed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("opentelemetry.proto", reason="OTLP is an extra")

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine


@pytest.fixture
def recorded(cli: "CommandLine") -> Path:
    """The trace database of the example workflow, recorded in the home folder, published and indexed."""
    subprocess.run(["git", "init", "--quiet", "."], cwd=cli.home, env=cli.environment, check=True)
    assert cli.run("init").code == 0
    example = [sys.executable, "-W", "ignore", "adws/adw_example.py", "Add a greeting"]
    subprocess.run(example, cwd=cli.home, env=cli.environment, check=True, capture_output=True, timeout=240)
    assert cli.run("index", "sync").code == 0
    return cli.home / "adws/adw_data/sssf.db"


def root_attributes(folder: Path) -> dict[str, Any]:
    """Return the attributes of the one span without a parent, of the one file of a folder."""
    (file,) = folder.iterdir()
    scopes = json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"]
    (root,) = [span for scope in scopes for span in scope["spans"] if "parentSpanId" not in span]
    return {pair["key"]: next(iter(pair["value"].values())) for pair in root["attributes"]}


def test_a_sealed_run_is_named_with_its_receipt(recorded: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """The digest is that of the receipt in the state root."""
    answer = cli.run("export", "otlp", "--to", str(tmp_path / "out"))

    found = root_attributes(tmp_path / "out")
    (run,) = cli.run("index", "query", "runs", "--json").document["rows"]
    assert (0, "") == (answer.code, answer.err)
    assert (run["session_id"], "sealed", run["final_receipt_sha256"]) == (
        found["agent_workflow.run.id"],
        found["agent_workflow.seal.state"],
        found["agent_workflow.seal.receipt_sha256"],
    )


def test_a_session_of_another_database_has_no_seal(recorded: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """Ids are those of one database; a copy of it is another one."""
    for path in recorded.parent.glob("sssf.db*"):
        shutil.copy(path, tmp_path / path.name)

    cli.run("export", "otlp", "--db", str(tmp_path / "sssf.db"), "--to", str(tmp_path / "out"))

    assert not [name for name in root_attributes(tmp_path / "out") if "seal" in name or name == "agent_workflow.run.id"]


def test_a_damaged_index_is_told_and_stops_nothing(recorded: Path, cli: "CommandLine", tmp_path: Path) -> None:
    """The spans are written, without what only the index knows."""
    index = cli.home / ".local/state/agent-workflow/index/agent-workflow.sqlite3"
    index.write_bytes(b"no database" * 1000)

    answer = cli.run("export", "otlp", "--to", str(tmp_path / "out"))

    assert (0, True) == (answer.code, "the index cannot be asked for seals" in answer.err)
    assert "agent_workflow.seal.state" not in root_attributes(tmp_path / "out")
