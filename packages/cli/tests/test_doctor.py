"""``agent-workflow doctor``."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_workflow.cli._check import Check
from agent_workflow.cli._doctor_state_root import check_directory, check_file_system, check_free_space, file_system_kind
from agent_workflow.cli._doctor_surroundings import check_agents, check_trace_databases
from agent_workflow.cli._doctor_versions import check_sqlite, has_wal_reset_bug
from agent_workflow.cli._retention_words import interrupted_prunes

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:30 / /home rw - nfs4 server:/home rw
24 23 0:31 / /home/dev/My\\040Disk rw - fuse.sshfs dev@host: rw
25 22 0:32 / /srv rw - nfs server:/srv rw
26 22 8:2 / /srv rw - xfs /dev/sdb1 rw
27 22 0:33 / /médias\\040b rw - nfs4 server:/médias rw
"""


def test_a_healthy_place_has_nothing_to_mend(indexed: Path, cli: "CommandLine") -> None:
    """Each line has a verdict, the last one speaks for all, and nothing is bad."""
    answer = cli.run("doctor", "--state-root", str(indexed))

    assert 0 == answer.code
    assert all(line[:4] in ("ok  ", "warn", "    ") for line in answer.lines[:-1])
    assert any(line.startswith("ok    index database    current: 4 of 4 runs current") for line in answer.lines)


def test_the_document_holds_every_check(indexed: Path, cli: "CommandLine") -> None:
    """Programs get the same as one document."""
    document = cli.run("doctor", "--json", "--state-root", str(indexed)).document

    assert "agent-workflow/doctor/v1" == document["schema"]
    names = {check["name"] for check in document["checks"]}
    assert {"packages", "python", "sqlite (index)", "sqlite (trace)", "state root", "file system", "disk"} <= names
    assert all(check["fix"] for check in document["checks"] if check["verdict"] == "bad")


def test_a_bad_finding_exits_1_with_its_fix(indexed: Path, cli: "CommandLine") -> None:
    """A root that others may write is bad, and the command that mends it is there."""
    indexed.chmod(0o722)

    answer = cli.run("doctor", "--state-root", str(indexed))

    assert 1 == answer.code
    assert f"-> chmod go-w {indexed}" in " ".join(answer.out.split())  # a long path has a line of its own
    assert answer.lines[-1].endswith("to mend")


def test_a_root_that_cannot_be_looked_into_has_no_prunes_to_tell(tmp_path: Path) -> None:
    """The other checks say what is wrong with it; this one does not end the report."""
    assert interrupted_prunes(tmp_path / ("x" * 300), None) is None


def test_doctor_changes_nothing(tmp_path: Path, cli: "CommandLine") -> None:
    """Looking makes no directory."""
    cli.run("doctor", "--state-root", str(tmp_path / "none"))

    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
    ],
)
def test_the_versions_of_sqlite_with_the_fault_are_known(version: tuple[int, ...], expected: bool) -> None:
    """The fault that loses commits was mended on three branches."""
    assert expected == has_wal_reset_bug(version)


def test_a_faulty_sqlite_is_named_with_its_fix() -> None:
    """A warning says what to do."""
    check = check_sqlite("sqlite (trace)", "3.40.1", "use a newer one")

    assert ("warn", "use a newer one") == (check.verdict, check.fix)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/x", "ext4"),
        ("/home/dev", "nfs4"),
        ("/home/dev/My Disk/state", "fuse.sshfs"),
        ("/srv/x", "xfs"),
        ("/médias b/x", "nfs4"),
    ],
)
def test_the_kind_of_file_system_is_that_of_the_nearest_mount(path: str, expected: str) -> None:
    """The longest mount point counts, and of two on one place the later."""
    assert expected == file_system_kind(Path(path), MOUNTS)


def test_a_shared_file_system_is_bad(tmp_path: Path) -> None:
    """A write-ahead log needs a disk of this host."""
    shared = check_file_system(tmp_path, f"1 1 0:1 / {tmp_path} rw - virtiofs share rw\n")
    local = check_file_system(tmp_path, f"1 1 0:1 / {tmp_path} rw - btrfs /dev/sda rw\n")
    unknown = check_file_system(tmp_path, "")

    assert ("bad", "ok", "ok") == (shared.verdict, local.verdict, unknown.verdict)


@pytest.mark.parametrize(("free", "expected"), [(10, "bad"), (500 * 1024**2, "warn"), (5 * 1024**3, "ok")])
def test_a_disk_that_runs_full_is_told_in_time(free: int, expected: str, tmp_path: Path) -> None:
    """Little room is a warning before it is a loss."""
    assert expected == check_free_space(tmp_path, free).verdict


@pytest.mark.parametrize(("mode", "expected"), [(0o700, "ok"), (0o755, "warn"), (0o770, "bad"), (0o702, "bad")])
def test_a_directory_is_judged_by_its_mode(mode: int, expected: str, tmp_path: Path) -> None:
    """What others may write is bad, what they may read is a warning."""
    tmp_path.chmod(mode)

    assert expected == check_directory("runs", tmp_path, missing="").verdict


def test_a_fix_can_be_typed_as_it_is_shown(tmp_path: Path) -> None:
    """Whatever a directory is called."""
    odd = tmp_path / "my runs; rm x"
    odd.mkdir()
    odd.chmod(0o777)

    fix = check_directory("runs", odd, missing="").fix

    assert ["chmod", "go-w", str(odd)] == shlex.split(fix or "")


@pytest.mark.parametrize("name", ["x" * 300, "file/below"])
def test_a_state_root_that_cannot_be_is_a_finding(name: str, cli: "CommandLine") -> None:
    """And keeps nothing else from being looked at."""
    (cli.home / "file").touch()

    checks = cli.run("doctor", "--json", "--state-root", name).document["checks"]

    found = {check["name"]: check["verdict"] for check in checks}
    assert "bad" == found["state root"]
    assert {"disk", "index database", "trace database"} <= found.keys()


def test_a_link_in_place_of_a_directory_is_bad(tmp_path: Path) -> None:
    """A link is not followed."""
    (tmp_path / "runs").symlink_to(tmp_path)

    assert "bad" == check_directory("runs", tmp_path / "runs", missing="").verdict


def test_agents_are_found_and_not_run(tmp_path: Path) -> None:
    """A program on PATH is named with its path; running it would leave a trace here."""
    agent = tmp_path / "codex"
    agent.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    agent.chmod(0o755)

    assert [Check("agent codex", "ok", str(agent))] == list(check_agents(str(tmp_path)))
    assert not (tmp_path / "ran").exists()


def test_no_agent_is_a_warning(tmp_path: Path) -> None:
    """Recorded runs can be looked at without one."""
    assert ["warn"] == [check.verdict for check in check_agents(str(tmp_path))]


def test_trace_databases_are_looked_for_up_to_the_repository(tmp_path: Path) -> None:
    """The usual places count from the working directory to the root of its repository, not beyond."""
    outside, inside = tmp_path / ".sssf/data/sssf.db", tmp_path / "repo/adws/adw_data/sssf.db"
    for path in (outside, inside):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"SQLite format 3\0")
    work = tmp_path / "repo/src/deep"
    work.mkdir(parents=True)
    (tmp_path / "repo/.git").mkdir()

    found = [check.detail for check in check_trace_databases(work, {})]

    assert [str(inside)] == found


def configured(folder: Path, text: str) -> Path:
    """Make a repository with a configuration of this text."""
    (folder / ".git").mkdir(parents=True)
    (folder / "adws").mkdir()
    (folder / "adws/sssf.config.yaml").write_text(text)
    return folder


def test_the_trace_database_is_where_the_configuration_says(tmp_path: Path) -> None:
    """As for every other command: the configuration goes before the usual places."""
    repository = configured(tmp_path / "repo", "observability:\n  db: state/mine.db\n")
    for name in ("state/mine.db", "adws/adw_data/sssf.db"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).write_bytes(b"SQLite format 3\0")

    found = list(check_trace_databases(repository, {}))

    assert [("ok", str(repository / "state/mine.db"))] == [(check.verdict, check.detail) for check in found]


def test_sessions_without_their_trace_database_are_told(tmp_path: Path) -> None:
    """Their files are the truth, so the database can be made from them."""
    repository = configured(tmp_path / "repo", "observability:\n  db: adws/adw_data/sssf.db\n")
    (repository / "adws/adw_data/sessions/aaaa0001").mkdir(parents=True)

    (found,) = check_trace_databases(repository, {})

    assert "warn" == found.verdict
    assert f"agent-workflow trace rebuild --db {repository / 'adws/adw_data/sssf.db'}" == found.fix


def test_a_named_trace_database_that_is_none_is_bad(tmp_path: Path) -> None:
    """``SSSF_DB`` must name a database."""
    text = tmp_path / "text.db"
    text.write_text("hello")

    missing = list(check_trace_databases(tmp_path, {"SSSF_DB": str(tmp_path / "none.db")}))
    wrong = list(check_trace_databases(tmp_path, {"SSSF_DB": str(text)}))

    assert ["bad"] == [check.verdict for check in missing]
    assert ["bad"] == [check.verdict for check in wrong]
