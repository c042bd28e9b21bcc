"""``index export``, ``fleet query`` and ``fleet verify``: what they say, their exit codes, and what they need."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

INSTALLED = all(find_spec(module) for module in ("pyarrow", "fsspec", "duckdb"))
needs_extras = pytest.mark.skipif(not INSTALLED, reason="the export and the fleet are extras")


@pytest.fixture
def dataset(cli: "CommandLine", indexed: Path) -> str:
    """Give a dataset that the state root was exported to."""
    place = str(cli.home / "fleet")
    assert cli.run("index", "export", "--to", place, "--host", "build-7", "--state-root", str(indexed)).code == 0
    return place


@needs_extras
def test_an_export_says_what_it_did(cli: "CommandLine", indexed: Path) -> None:
    """In words: the host, the files, the freshness, and what stayed at home."""
    answer = cli.run("index", "export", "--to", "fleet", "--host", "build-7", "--state-root", str(indexed))

    assert (0, "") == (answer.code, answer.err)
    assert answer.lines[0].startswith("exported: ")
    assert "host build-7" in answer.lines[0]
    assert any(line.startswith("left out") and "workdir" in line and "summary" in line for line in answer.lines)


@needs_extras
def test_an_export_is_one_document(cli: "CommandLine", indexed: Path) -> None:
    """With --json; the second one writes nothing."""
    arguments = ("index", "export", "--to", "fleet", "--json", "--state-root", str(indexed))
    first, second = cli.run(*arguments).document, cli.run(*arguments).document

    assert "agent-workflow/export-report/v1" == first["schema"]
    assert first["parts_written"] > 0
    assert (0, first["parts_written"]) == (second["parts_written"], second["parts_unchanged"])


@needs_extras
def test_a_fleet_is_asked_like_an_index(cli: "CommandLine", indexed: Path, dataset: str) -> None:
    """The same rows, each with its host."""
    of_index = cli.run("index", "query", "runs", "--json", "--state-root", str(indexed)).document
    of_fleet = cli.run("fleet", "query", "runs", "--dataset", dataset, "--json").document

    assert "agent-workflow/fleet-query/v1" == of_fleet["schema"]
    assert [("build-7", row["session_id"]) for row in of_index["rows"]] == [
        (row["host"], row["session_id"]) for row in of_fleet["rows"]
    ]
    shared = of_index.keys() - {"schema", "database", "rows"}
    assert {key: of_index[key] for key in shared} == {key: of_fleet[key] for key in shared}


@needs_extras
@pytest.mark.parametrize("wide", [(), ("--wide",)])
def test_a_fleet_is_shown_as_a_table(wide: tuple[str, ...], cli: "CommandLine", dataset: str) -> None:
    """Under a line for the host's freshness, and one for what the policy left out."""
    answer = cli.run("fleet", "query", "runs", "--dataset", dataset, *wide)

    assert (0, "") == (answer.code, answer.err)
    assert "build-7" in answer.lines[0]
    assert answer.lines[1].startswith("left out by policy: ")
    assert any("build-7" in line for line in answer.lines[2:])


@needs_extras
def test_damage_that_keeps_the_size_is_found_and_mended(cli: "CommandLine", indexed: Path, dataset: str) -> None:
    """With --full, by its path and with the steps that mend it; sizes alone are not enough, and that is said."""
    sound = cli.run("fleet", "verify", "--full", "--dataset", dataset)
    damaged = next(Path(dataset).glob("table=runs/**/part-*.parquet"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)

    sizes = cli.run("fleet", "verify", "--dataset", dataset)
    full = cli.run("fleet", "verify", "--full", "--dataset", dataset, COLUMNS="100")
    document = cli.run("fleet", "verify", "--full", "--json", "--dataset", dataset).document
    damaged.unlink()
    cli.run("index", "export", "--to", dataset, "--host", "build-7", "--state-root", str(indexed))
    mended = cli.run("fleet", "verify", "--full", "--dataset", dataset)

    assert [0, 0, 1, 0] == [answer.code for answer in (sound, sizes, full, mended)]
    assert f"agent-workflow fleet verify --full --dataset {dataset}".replace(" ", "") in "".join(sizes.out.split())
    assert str(damaged) in full.out
    assert "then export again, with the options as they were, on: build-7" in " ".join(full.out.split())
    assert [("build-7", str(damaged), "mismatch")] == [
        (fault["host"], fault["path"], fault["verdict"]) for fault in document["faults"]
    ]


@needs_extras
@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("index", "export", "--to", ""), 2, "invalid_destination"),
        (("index", "export", "--to", "fleet", "--host", "A/B"), 2, "invalid_destination"),
        (("index", "export", "--to", "fleet", "--retain-days", "0"), 2, "invalid_destination"),
        (("index", "export", "--to", "fleet", "--policy", "none.toml"), 2, "invalid_policy"),
        (("index", "export"), 2, "usage_error"),
        (("fleet", "query", "runs", "--dataset", "nowhere"), 1, "missing_dataset"),
        (("fleet", "verify", "--dataset", "nowhere"), 1, "missing_dataset"),
        (("fleet", "query", "flights", "--dataset", "nowhere"), 2, "invalid_question"),
        (("fleet", "query", "health", "--model", "x", "--dataset", "nowhere"), 2, "invalid_question"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: tuple[str, ...], code: int, word: str, cli: "CommandLine", indexed: Path
) -> None:
    """With an exit code, a word for programs and a next step."""
    answer = cli.run(*arguments, "--json", AGENT_WORKFLOW_STATE_ROOT=str(indexed))

    assert (code, word) == (answer.code, answer.document["error"]["code"])
    assert 1 == len(answer.err.splitlines())
    assert answer.document["error"]["hint"]


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyarrow", "fsspec", "duckdb"}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
ABSENT = {"pyarrow", "fsspec", "duckdb"}
importlib.util.find_spec = lambda name, package=None: None if name in ABSENT else found(name, package)
from agent_workflow.cli._app import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("export", ("index", "export", "--to", "fleet")),
        ("fleet", ("fleet", "query", "runs", "--dataset", "fleet")),
        ("fleet", ("fleet", "verify", "--dataset", "fleet")),
    ],
)
def test_without_the_extra_it_is_named(extra: str, arguments: tuple[str, ...], cli: "CommandLine") -> None:
    """Exit 2, with what to install; nothing is written."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments, "--json"],
        env=cli.environment,
        cwd=cli.home,
        capture_output=True,
        text=True,
    )

    error = json.loads(done.stdout)["error"]
    assert (2, "missing_extra") == (done.returncode, error["code"])
    assert error["hint"].endswith(f" 'agent-workflow-cli[{extra}]'")
    assert not (cli.home / "fleet").exists()


@pytest.mark.parametrize("arguments", [("index", "query", "runs"), ("index", "status"), ("fleet", "--help")])
def test_other_commands_do_not_import_the_engines(
    arguments: tuple[str, ...], indexed: Path, cli: "CommandLine"
) -> None:
    """The core stays as light as it was."""
    script = "import sys; from agent_workflow.cli._app import run; run(sys.argv[1:]); print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=cli.environment | {"AGENT_WORKFLOW_STATE_ROOT": str(indexed)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert set() == set(done.stdout.splitlines()) & {
        *("pyarrow", "duckdb", "fsspec", "numpy", "agent_workflow.index_store.export", "concurrent.futures.thread"),
    }
