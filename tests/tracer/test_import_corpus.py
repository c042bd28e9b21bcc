"""The agents' own session files of the corpus: imported, they say what the streams beside them say."""

import json
import os
import random
import shutil
import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from agent_streams import ROWS, Row
from imported import session_totals, tables
from published import stages, verified

from agent_workflow.tracer import rebuild
from agent_workflow.tracer.importing import import_sessions
from agent_workflow.tracer.viewing import TraceSource, reconcile, session_row

pytestmark = pytest.mark.corpus

KINDS = {"claude": "transcript", "codex": "rollout", "gemini": "session", "pi": "session"}
AGENTS = {"claude": "claude_code"}
WITHOUT_FILE = ("claude/pipe_fast", "claude/pipe_slow")
CASES = [case for case in ROWS if case.partition("/")[0] in KINDS and case not in WITHOUT_FILE]
# What no record holds: how the agent's process ended, and what was only shown on the terminal.
OTHERWISE = {
    "claude/budget": "incomplete",
    "claude/max_turns": "incomplete",
    "codex/kill_int": "aborted",
    "gemini/fail_400": "incomplete",
    # gemini-cli writes an answer before the calls in it: cut off between the two, it looks like the last one.
    "gemini/kill_int_norelaunch": "answered",
    "gemini/kill_term_norelaunch": "answered",
    # On SIGTERM pi adds to its session, after the stream has ended, that it was aborted.
    "pi/c_kill_term": "aborted",
    "pi/c_kill_term_midstream": "aborted",
    "pi/pipe_term": "aborted",
}
UNFINISHED = {"failed": "incomplete"}
NOT_WRITTEN_YET = ("gemini/kill_int_norelaunch", "gemini/kill_term_norelaunch")
# pi went on after its reader was gone: the stream ends earlier than the session.
ROWS_OF_FILES = {"pi/pipe_term": replace(ROWS["pi/pipe_term"], calls=8, tools="*8")}
# A tool that was interrupted comes back with the words of one that its user has rejected.
DENIED_TOO = {"claude/kill_int": "Bash"}
EARLIER_CALLS = {"claude/resume": 5}  # one file has both conversations


def own_file(streams: Path, case: str) -> Path:
    """Name the agent's own file beside a stream."""
    return streams / f"{case}.{KINDS[case.partition('/')[0]]}.jsonl"


def own_files(streams: Path) -> list[Path]:
    """Name all of them."""
    found = [own_file(streams, case) for case in CASES]
    return sorted([*found, streams / "opencode" / "basic_then_resume.export.json"])


def spent(agent: str, call: int) -> tuple[int, int, int, int]:
    """Say what a model call took: fresh, given, from the cache, to the cache."""
    return 100 + 10 * call, 50 + call + (20 if agent == "gemini" else 0), 1000 * call, 500 * (agent == "claude")


def tokens(case: str, row: Row) -> list[int]:
    """Work out what all model calls of a file took."""
    agent = case.partition("/")[0]
    calls = [*range(EARLIER_CALLS.get(case, 0)), *range(row.calls)]
    return [sum(column) for column in zip((0,) * 4, *(spent(agent, call) for call in calls), strict=True)]


def agent_ends(db: Path) -> list[dict[str, Any]]:
    """Return the payloads of all ends of turns."""
    connection = sqlite3.connect(db)
    rows = connection.execute("SELECT payload_json FROM events WHERE type = 'agent_end' ORDER BY started_at").fetchall()
    connection.close()
    return [json.loads(payload) for (payload,) in rows]


def tool_calls(db: Path) -> list[str]:
    """Return whether each tool call worked, in no order."""
    connection = sqlite3.connect(db)
    rows = connection.execute("SELECT payload_json FROM events WHERE type = 'tool_call'").fetchall()
    connection.close()
    return sorted("+" if json.loads(payload)["ok"] else "-" for (payload,) in rows)


def expected_calls(row: Row) -> list[str]:
    """Read the same from the table; what was cut off did not work."""
    marks = ["+" if "+" in tool else "-" for tool in row.tools.split()]
    return sorted(marks)


@pytest.mark.parametrize("case", CASES)
def test_a_session_file_says_what_its_stream_says(streams: Path, tmp_path: Path, case: str) -> None:
    """Tokens by component, calls and their outcomes, denials, retries, the model, and how it ended."""
    row = ROWS_OF_FILES.get(case, ROWS[case])

    report = import_sessions([own_file(streams, case)], tmp_path / "sssf.db", tmp_path)

    ends = agent_ends(tmp_path / "sssf.db")
    components = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    assert tokens(case, row) == [sum(end["usage"][name] for end in ends) for name in components]
    wanted = OTHERWISE.get(case, UNFINISHED.get(row.verdict, row.verdict))
    assert wanted == ends[-1]["sends"][0]["verdict"]
    if row.calls:
        assert row.model == ends[-1]["sends"][0]["model"]
    assert DENIED_TOO.get(case, row.denied).split() == [
        one["tool"] for end in ends for one in end["sends"][0]["denials"]
    ]
    # Only pi writes down whenever it tries again.
    retries = row.retries if case.startswith("pi/") else None
    assert retries == ends[-1]["sends"][0]["retries"]
    if not row.tools.startswith("*") and case not in (*EARLIER_CALLS, *NOT_WRITTEN_YET):
        assert expected_calls(row) == tool_calls(tmp_path / "sssf.db")
    if row.tools.startswith("*"):
        assert int(row.tools[1:]) == len(tool_calls(tmp_path / "sssf.db"))
    ((adw_id, totals),) = session_totals(tmp_path / "sssf.db").items()
    assert adw_id.removeprefix(f"{AGENTS.get(case.partition('/')[0], case.partition('/')[0])}-").startswith(row.session)
    assert ("success" if wanted == "answered" else "fail") == totals[0]
    assert ([], [], []) == (report.damaged, report.waiting, report.unreadable)


def test_an_export_of_opencode(streams: Path, tmp_path: Path) -> None:
    """Both prompts of the session, their calls, and the money that opencode has told."""
    import_sessions([streams / "opencode" / "basic_then_resume.export.json"], tmp_path / "sssf.db", tmp_path)

    ends = agent_ends(tmp_path / "sssf.db")
    assert [5, 2] == [end["sends"][0]["turns"] for end in ends]
    assert Decimal("0.0059975") == sum(Decimal(repr(end["cost"])) for end in ends)
    assert ["billed", "billed"] == [end["cost_basis"] for end in ends]
    assert 8 == len(tool_calls(tmp_path / "sssf.db"))


@pytest.fixture(scope="module")
def at_once(streams: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All files of the corpus, imported at once."""
    folder = tmp_path_factory.mktemp("at-once")
    import_sessions(own_files(streams), folder / "sssf.db", folder)
    return tables(folder / "sssf.db")


def copied(files: list[Path], folder: Path) -> dict[Path, Path]:
    """Name places for copies that keep the order of the originals' paths."""
    folder.mkdir()
    return {file: folder / f"{number:03d}-{file.name}" for number, file in enumerate(files)}


def without_paths(rows: dict[str, Any], folders: dict[str, str]) -> str:
    """Write rows without the places of the files, which differ."""
    text = repr(rows)
    for place, name in folders.items():
        text = text.replace(place, name)
    return text


@pytest.mark.parametrize("seed", range(4))
def test_order_and_parts_do_not_matter(streams: Path, tmp_path: Path, at_once: dict[str, Any], seed: int) -> None:
    """Files that come one after the other, and grow in pieces that end anywhere, come to the same rows."""
    dice = random.Random(seed)
    places = copied(own_files(streams), tmp_path / "copies")
    db = tmp_path / "out" / "sssf.db"
    order = list(places)
    dice.shuffle(order)
    for file in order:
        content = file.read_bytes()
        cuts = sorted(dice.randrange(len(content)) for _ in range(2)) if file.suffix == ".jsonl" else []
        for cut in [*cuts, len(content)]:
            places[file].write_bytes(content[:cut])
            import_sessions([places[file]], db, db.parent)

    names = {str(place): str(file) for file, place in places.items()}
    assert without_paths(at_once, {}) == without_paths(tables(db), names)


def test_importing_again_reads_nothing(streams: Path, tmp_path: Path) -> None:
    """Once is enough, also for what is nobody's session."""
    old = tmp_path / "old"
    shutil.copytree(streams, old)
    for file in old.rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    import_sessions([old], tmp_path / "sssf.db", tmp_path)
    before = tables(tmp_path / "sssf.db")

    report = import_sessions([old], tmp_path / "sssf.db", tmp_path)

    assert (report.files, 0, []) == (report.unchanged, report.bytes_read, report.written)
    assert before == tables(tmp_path / "sssf.db")


def test_the_numbers_add_up(streams: Path, tmp_path: Path) -> None:
    """Components to turns, turns to the session, in every session; what no record names is unknown."""
    import_sessions(own_files(streams), tmp_path / "sssf.db", tmp_path)

    with TraceSource(tmp_path / "sssf.db") as source:
        sessions = [row[0] for row in source.tuples("SELECT adw_id FROM sessions")]
        told = [reconcile(source, session_row(source, adw_id, {})) for adw_id in sessions]
    assert 49 == len(told)
    assert {"adds_up"} == {one["session"]["tokens_verdict"] for one in told}
    assert {"adds_up", "unknown"} == {one["session"]["cost_verdict"] for one in told}
    calls = [call for one in told for phase in one["phases"] for call in phase["calls"]]
    assert {"adds_up"} == {call[name] for call in calls for name in ("tokens_verdict", "sends_verdict")}


def test_a_rebuild_gives_the_same_rows(streams: Path, tmp_path: Path, at_once: dict[str, Any]) -> None:
    """The files of imported sessions hold all that their rows hold."""
    db = tmp_path / "sssf.db"
    import_sessions([streams], db, tmp_path)
    db.unlink()
    for suffix in ("-wal", "-shm"):
        db.with_name(db.name + suffix).unlink(missing_ok=True)

    report = rebuild(db, tmp_path)

    assert report.lost_nothing
    assert at_once == tables(db)


def test_every_session_is_evidence_once(streams: Path, tmp_path: Path) -> None:
    """Verified by the index, nothing counted twice; imported anew in another order, nothing is published again."""
    files, db, root = own_files(streams), tmp_path / "d" / "sssf.db", tmp_path / "state"
    first = import_sessions(files, db, tmp_path / "d", publish_to=root)
    (tmp_path / "d" / "imported.db").unlink()
    again = import_sessions(reversed(files), db, tmp_path / "d", publish_to=root)

    assert (len(first.written), [], []) == (len(first.published), first.fresh, first.unpublished)
    assert (len(first.written), []) == (len(again.written), again.published)
    assert set(first.published) == set(verified(root))
    for name in first.published:
        parts = stages(root / "runs" / name)
        total = parts.pop("total")
        assert total["provider_total_tokens"] == sum(part["provider_total_tokens"] for part in parts.values())
    spent = dict(session_tokens(db))
    assert spent == {name: stages(root / "runs" / name)["total"]["provider_total_tokens"] for name in first.published}


def session_tokens(db: Path) -> list[tuple[str, int]]:
    """Return what each session of a trace has used."""
    connection = sqlite3.connect(db)
    try:
        return connection.execute("SELECT adw_id, total_tokens FROM sessions").fetchall()
    finally:
        connection.close()
