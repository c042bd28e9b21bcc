"""Files that grow, break, are replaced, renamed or taken away; and what an import does then."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from import_lab import FIRST, SECOND, Trace, answer, lines, prompt, tool_use

from agent_workflow.tracer import TraceReadError, TraceWriteFailed, rebuild
from agent_workflow.tracer.importing import ImportProgress, discover, recognise_session
from agent_workflow.tracer.importing._owned_items import _FROM, _ORDER, _OWNED

LONG_AGO = 1_000_000_000


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """An empty trace."""
    return Trace(tmp_path / "trace")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A transcript of one turn."""
    place = tmp_path / f"{FIRST}.jsonl"
    place.write_bytes(lines(prompt(FIRST, "One", 0), answer(FIRST, "a", 1, spent=(100, 1))))
    return place


def append(file: Path, data: bytes) -> None:
    """Let a file grow."""
    with file.open("ab") as stream:
        stream.write(data)


MORE = lines(prompt(FIRST, "Two", 10), answer(FIRST, "b", 11, spent=(200, 2)))


def test_only_the_new_part_is_read(trace: Trace, file: Path) -> None:
    """A file that has grown costs what it has grown by."""
    trace.take(file)
    append(file, MORE)

    report = trace.take(file)

    assert len(MORE) == report.bytes_read
    assert [303] == list(trace.tokens().values())


def test_an_unchanged_file_is_not_opened(trace: Trace, file: Path) -> None:
    """It costs one ``stat``: even one that cannot be read any more is passed over."""
    os.utime(file, (LONG_AGO, LONG_AGO))
    trace.take(file)
    before = trace.tables()
    file.chmod(0)

    report = trace.take(file)

    assert (1, 0, [], []) == (report.unchanged, report.bytes_read, report.written, report.unreadable)
    assert before == trace.tables()


def test_a_torn_tail_waits(trace: Trace, file: Path) -> None:
    """Half a line is nobody's fault; it is taken when the rest is there."""
    append(file, MORE[:-20])

    first = trace.take(file)
    told = trace.tokens()
    append(file, MORE[-20:])
    second = trace.take(file)

    assert [f"claude_code-{FIRST}"] == list(told)
    assert [101] == list(told.values())
    assert [303] == list(trace.tokens().values())
    assert ([], 1) == (first.damaged, len(first.waiting))
    assert ([], []) == (second.damaged, second.waiting)


@pytest.mark.parametrize(
    "broken",
    [
        b'{"type":"assistant","message":{"id":"x"\n',
        b"\0" * 50 + b"\n",
        b'{"type":"user"}{"type":"user"}\n',
        b'{"a":NaN}\n',
    ],
    ids=["torn", "zeros", "welded", "NaN beside what matters"],
)
def test_damage_in_the_middle_is_told_and_the_rest_is_imported(trace: Trace, file: Path, broken: bytes) -> None:
    """With file and line; a line of no use is not judged by what is in it."""
    append(file, broken + MORE)

    report = trace.take(file)

    wanted = [] if b"NaN" in broken else [f"{file}, line 3: "]
    assert wanted == [sentence[: len(wanted[0])] for sentence in report.damaged]
    assert [303] == list(trace.tokens().values())
    if wanted:
        (request,) = [log for log in trace.payloads("log") if "input" in log]
        assert report.damaged == request["imported_from"][0]["damaged"]


def test_a_file_that_was_replaced_is_read_whole(trace: Trace, file: Path) -> None:
    """The old content is forgotten, also when the new one is longer and in the same place."""
    trace.take(file)
    file.write_bytes(lines(prompt(FIRST, "Other", 0), answer(FIRST, "z", 1, spent=(7, 1)), answer(FIRST, "y", 2)))

    trace.take(file)

    assert [8 + 15] == list(trace.tokens().values())
    assert ["Other"] == [start["prompt"] for start in trace.payloads("agent_start")]


def test_a_file_of_the_same_size_and_time_that_just_changed_is_looked_at_again(trace: Trace, file: Path) -> None:
    """Within the grain of the clock a change may not show."""
    trace.take(file)
    status = file.stat()
    file.write_bytes(file.read_bytes().replace(b"One", b"Two"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    trace.take(file)

    assert ["Two"] == [start["prompt"] for start in trace.payloads("agent_start")]


def test_a_renamed_file_is_the_same_file(trace: Trace, file: Path, tmp_path: Path) -> None:
    """It is not read again, and its lines do not count as repetitions."""
    os.utime(file, (LONG_AGO, LONG_AGO))
    trace.take(file)
    raw = trace.raw_tokens()
    other = tmp_path / "archived" / file.name
    other.parent.mkdir()
    file.rename(other)
    append(other, MORE)

    report = trace.take(other)

    assert len(MORE) == report.bytes_read
    assert raw + 202 == trace.raw_tokens()


def test_another_file_in_the_place_of_a_removed_one_is_another(trace: Trace, file: Path, tmp_path: Path) -> None:
    """File systems give the numbers of removed files away again."""
    trace.take(file)
    other = tmp_path / f"{SECOND}.jsonl"
    file.rename(other)
    other.write_bytes(lines(prompt(SECOND, "New", 20), answer(SECOND, "n", 21, spent=(1000, 1))))

    trace.take(other)

    assert {f"claude_code-{FIRST}": 101, f"claude_code-{SECOND}": 1001} == trace.tokens()


def test_a_session_whose_file_is_gone_stays(trace: Trace, file: Path, tmp_path: Path) -> None:
    """Agents tidy up after some weeks; what was imported is kept."""
    trace.take(file)
    file.unlink()

    report = trace.take(tmp_path)

    assert [101] == list(trace.tokens().values())
    assert [] == report.written


@pytest.mark.parametrize("what", ["database", "ledger", "sessions"])
def test_what_somebody_removed_comes_back(trace: Trace, file: Path, what: str) -> None:
    """The database and the ledger may be deleted at any time, as may a session's folder."""
    trace.take(file)
    before = trace.tables()
    names = {"database": ["sssf.db", "sssf.db-wal", "sssf.db-shm"], "ledger": ["imported.db", "imported.db-wal"]}
    for name in names.get(what, []):
        (trace.folder / name).unlink(missing_ok=True)
    if what == "sessions":
        folder = trace.folder / "sessions" / f"claude_code-{FIRST}"
        for part in folder.iterdir():
            part.unlink()
        folder.rmdir()

    trace.take(file)

    assert before == trace.tables()
    again = Trace(trace.folder / "again")
    rebuild(again.db, trace.folder)
    assert before == again.tables()


def test_an_archive_flag_outlives_an_import(trace: Trace, file: Path) -> None:
    """It is the reader's, not the record's."""
    trace.take(file)
    connection = sqlite3.connect(trace.db)
    connection.execute("UPDATE sessions SET archived = 1")
    connection.commit()
    connection.close()
    append(file, MORE)

    trace.take(file)

    assert [(1, 303)] == trace.rows("SELECT archived, total_tokens FROM sessions")


def test_secrets_are_kept_out(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of the environment that looks secret is in nothing that is written for reading."""
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    file = tmp_path / f"{FIRST}.jsonl"
    called = answer(FIRST, "b", 2, tool_use("t1", "curl -H hunter2hunter2"))
    asked = prompt(FIRST, "Use hunter2hunter2", 0, uuid="u")
    file.write_bytes(lines(asked, answer(FIRST, "a", 1), called))

    trace.take(file)

    written = b"".join(part.read_bytes() for part in trace.folder.rglob("*") if part.is_file())
    assert b"hunter2" not in written
    assert [("Use [redacted:SOME_API_KEY]",)] == trace.rows("SELECT request FROM sessions")


def test_what_is_nobody_s_session_is_passed_over(trace: Trace, tmp_path: Path, file: Path) -> None:
    """Other files are not opened again, and neither links out of a folder nor pipes are followed."""
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "stream.jsonl").write_bytes(lines({"type": "system", "subtype": "init", "session_id": "x"}))
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "schema.json").write_text('{"type": ["object", "null"]}')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")

    report = trace.take(tmp_path)

    assert [f"claude_code-{FIRST}"] == list(trace.tokens())
    assert ([], []) == (report.damaged, report.unreadable)
    assert 1 == sum(report.agents.values())
    assert 6 == report.foreign


def test_a_folder_that_cannot_be_read_is_told(trace: Trace, tmp_path: Path, file: Path) -> None:
    """It is not taken for an empty one."""
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)

    report = trace.take(tmp_path)

    assert 1 == len(report.unreadable)
    assert 1 == len(trace.tokens())


def test_a_second_import_at_the_same_time_is_refused(trace: Trace, file: Path) -> None:
    """With words that say what to do."""

    def meanwhile(_: ImportProgress) -> None:
        with pytest.raises(TraceReadError) as refused:
            trace.take(file)
        assert "another import" in (refused.value.hint or "")

    trace.take(file, progress=meanwhile)

    assert [101] == list(trace.tokens().values())


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_an_import_that_was_killed_is_made_good_by_the_next(trace: Trace, tmp_path: Path, steps: int) -> None:
    """At whatever step: between two files, or between two sessions."""
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(3):
        session = f"{FIRST[:-1]}{number}"
        told = answer(session, f"a{number}", number + 1, spent=(100, number))
        (sources / f"{session}.jsonl").write_bytes(lines(prompt(session, "One", number), told))
    program = (
        "import sys, time; from pathlib import Path; from agent_workflow.tracer.importing import import_sessions\n"
    )
    program += "def told(_):\n    print(flush=True)\n    time.sleep(0.01)\n"
    program += "to = Path(sys.argv[2]); import_sessions([Path(sys.argv[1])], to / 'sssf.db', to, progress=told)"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(sources), str(trace.folder)], stdout=subprocess.PIPE
    ) as child:
        for _ in range(steps):
            assert child.stdout is not None
            child.stdout.readline()
        child.kill()

    trace.take(sources)

    whole = Trace(tmp_path / "whole")
    whole.take(sources)
    assert whole.tables() == trace.tables()


def test_a_database_that_is_locked_is_told_and_nothing_is_lost(
    trace: Trace, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are written; the rows follow with the next import."""
    trace.take(file)
    append(file, MORE)
    monkeypatch.setattr("agent_workflow.tracer._connect.BUSY_TIMEOUT_MS", 50)
    other = sqlite3.connect(trace.db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(TraceWriteFailed, match="locked"):
        trace.take(file)

    other.execute("ROLLBACK")
    other.close()
    report = trace.take(file)
    assert (0, [303]) == (report.bytes_read, list(trace.tokens().values()))


def test_numbers_and_texts_that_sqlite_cannot_hold(trace: Trace, tmp_path: Path) -> None:
    """A count beyond 64 bits counts as none; half a character and a zero byte are kept out of keys and names."""
    file = tmp_path / f"{FIRST}.jsonl"
    file.write_bytes(
        lines(
            prompt(FIRST, "half \ud83d and \0 zero", 0, uuid="\ud83d"),
            answer(
                FIRST,
                "\udcb2",
                1,
                {"type": "tool_use", "id": "\ud800", "name": "\udfff", "input": {}},
                spent=(2**63, 5),
            ),
        )
    )

    report = trace.take(file)

    assert [] == report.damaged
    assert [5] == list(trace.tokens().values())


def test_each_session_that_was_written_is_named_to_the_caller(trace: Trace, file: Path) -> None:
    """Who publishes evidence of imported sessions hangs on here."""
    told: list[str] = []
    trace.take(file, written=lambda files: told.append(files.adw_id))
    trace.take(file, written=lambda files: told.append(files.adw_id))

    assert [f"claude_code-{FIRST}"] == told


def test_where_the_agents_keep_their_sessions(tmp_path: Path) -> None:
    """Below the home, unless a variable says otherwise; what is not there is left out."""
    for name in (".claude/projects", ".pi/agent/sessions", "elsewhere/sessions"):
        (tmp_path / name).mkdir(parents=True)

    found = discover({"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "elsewhere")})

    wanted = [".claude/projects", "elsewhere/sessions", ".pi/agent/sessions"]
    assert [str(tmp_path / name) for name in wanted] == [str(place) for place in found]


@pytest.mark.parametrize(
    ("first", "agent"),
    [
        ({"type": "user", "sessionId": SECOND, "message": {}}, "claude_code"),
        ({"type": "summary", "summary": "x", "leafUuid": "y"}, "claude_code"),
        ({"type": "session_meta", "payload": {"id": "x"}}, "codex"),
        ({"type": "session", "id": "x", "version": 3, "cwd": "/"}, "pi"),
        ({"sessionId": "x", "projectHash": "y", "startTime": "z"}, "gemini"),
        ({"info": {"id": "x"}, "messages": []}, "opencode"),
        ({"type": "thread.started", "thread_id": "x"}, None),
        ({"type": "init", "session_id": "x", "timestamp": "y"}, None),
    ],
)
def test_whose_file_it_is(first: dict[str, Any], agent: str | None) -> None:
    """The first line tells; a stream of an agent is no session file."""
    assert agent == recognise_session(json.dumps(first).encode() + b"\n")


def test_a_file_that_begins_with_a_very_long_line(trace: Trace, tmp_path: Path) -> None:
    """A prompt may be a whole document."""
    file = tmp_path / f"{FIRST}.jsonl"
    file.write_bytes(lines(prompt(FIRST, "x" * 400_000, 0), answer(FIRST, "a", 1)))

    trace.take(file)

    assert [15] == list(trace.tokens().values())


def test_one_session_is_found_without_going_through_all(trace: Trace, file: Path) -> None:
    """What a session holds is found by its files: else many sessions would take the square of their number."""
    trace.take(file)
    connection = sqlite3.connect(trace.folder / "imported.db")
    statement = f"EXPLAIN QUERY PLAN SELECT item.data, {_OWNED} {_FROM} {_ORDER}"
    plan = [row[3] for row in connection.execute(statement, ("x", 1))]
    connection.close()

    assert ["SEARCH item USING INDEX items_by_source (source=? AND kind=?)"] == [
        step for step in plan if step.split()[1] == "item"
    ]
    assert [] == [step for step in plan if step.startswith("SCAN")]
