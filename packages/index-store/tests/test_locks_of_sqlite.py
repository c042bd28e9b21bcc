"""SQLite's own locks: who has the index open, what a reader leaves, and that nothing of ours drops one of them."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from safety_ground import CALLS
from sample_state import StateRoot, write_rich_run

from agent_workflow import index_store
from agent_workflow.index_store import index_files

READERS = tuple(name for name in CALLS if name not in ("sync", "rebuild"))


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an indexed state root."""
    state = StateRoot(tmp_path / "state")
    write_rich_run(state, "run")
    index_store.sync(state.path)
    return state


@pytest.fixture
def holder(state: StateRoot) -> Iterator[apsw.Connection]:
    """Give a connection of somebody else's to the index."""
    with closing(apsw.Connection(str(state.database))) as connection:
        yield connection


@pytest.mark.parametrize("name", CALLS)
def test_an_index_that_somebody_holds_for_himself_is_said_to_be_held(
    state: StateRoot, holder: apsw.Connection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """After a wait. It is neither damaged nor unwritable, and it is read again once it is free."""
    for module in ("index_files", "database"):
        monkeypatch.setattr(f"agent_workflow.index_store.{module}.BUSY_MILLISECONDS", 50)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN IMMEDIATE; ROLLBACK")

    with pytest.raises(index_store.WriterBusy, match="held by another program") as refused:
        CALLS[name](state.path)
    holder.close()

    assert str(state.database) == refused.value.path
    CALLS[name](state.path)
    assert index_store.verify(state.path, full=True).valid


def test_an_index_that_is_free_in_time_is_read(state: StateRoot, holder: apsw.Connection) -> None:
    """A reader waits, as for the last writer's clean-up and for a recovery after a crash."""
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN IMMEDIATE; ROLLBACK")
    program = (
        "import sys; from pathlib import Path; from agent_workflow import index_store\n"
        "from agent_workflow.index_store import index_files\n"
        "index_files.BUSY_MILLISECONDS = 120_000\n"
        "first = index_files.connect\n"
        "def connect(*arguments):\n"
        "    print('opens', flush=True)\n"
        "    return first(*arguments)\n"
        "index_files.connect = connect\n"
        f"print(len(index_store.query(Path({str(state.path)!r}), 'runs').rows))"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert "opens\n" == reader.stdout.readline()
        holder.close()
        said = reader.stdout.read().split()

    assert "1" == said[-1]
    assert 0 == reader.returncode


@pytest.mark.parametrize("name", READERS)
def test_reading_changes_no_byte(state: StateRoot, holder: apsw.Connection, name: str) -> None:
    """Nor does it move what a killed writer has left in the WAL, as whoever may write does who closes as the last."""
    holder.execute("PRAGMA wal_autocheckpoint = 0")
    holder.execute("UPDATE index_metadata SET value = value || ' ' WHERE key = 'generation'")
    left = {path: path.read_bytes() for path in (state.database, state.index / f"{state.database.name}-wal")}
    holder.close()
    for path, content in left.items():
        path.write_bytes(content)
        path.chmod(0o600)

    CALLS[name](state.path)

    assert left == {path: path.read_bytes() for path in left}
    assert all(left.values())


def ask_and_fail(root: Path) -> None:
    """Ask what is refused, and break off in the middle of an answer."""
    with suppress(KeyboardInterrupt), index_store.open_index(root) as index:
        index.select("events")
        raise KeyboardInterrupt


@pytest.mark.parametrize("ask", [*(CALLS[name] for name in READERS), ask_and_fail], ids=[*READERS, "a failure"])
def test_a_reader_that_is_done_holds_nothing(state: StateRoot, ask: Callable[[Path], object]) -> None:
    """An open cursor would keep the WAL from ever being shortened."""
    ask(state.path)
    with closing(apsw.Connection(str(state.database))) as other:
        other.execute("UPDATE index_metadata SET value = value || ' ' WHERE key = 'generation'")

        busy, _, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]

    assert 0 == busy


@pytest.mark.parametrize("name", READERS)
def test_what_reads_beside_a_writer_of_the_same_process_drops_no_lock_of_it(
    state: StateRoot, holder: apsw.Connection, name: str
) -> None:
    """To close any descriptor of a file drops all locks that the process has on it."""
    holder.execute("BEGIN IMMEDIATE")
    program = f"import apsw; apsw.Connection({str(state.database)!r}).execute('BEGIN IMMEDIATE')"

    CALLS[name](state.path)

    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert "BusyError" in other.stderr
    holder.execute("ROLLBACK")


def test_nothing_but_sqlite_opens_a_file_of_the_database(tmp_path: Path) -> None:
    """Only an empty one is made, which nobody can have open yet."""
    root = tmp_path / "state"
    state = StateRoot(root)
    write_rich_run(state, "run")
    program = f"""
import json, os, sys
from pathlib import Path
opened = []
def note(event, arguments):
    if event == "open" and ".sqlite3" in str(arguments[0]):
        opened.append([os.path.basename(str(arguments[0])), bool(arguments[2] & os.O_EXCL)])
sys.addaudithook(note)
from agent_workflow import index_store
root = Path({str(root)!r})
index_store.initialize(root)
for call in (index_store.sync, index_store.rebuild, index_store.sync, index_store.status):
    call(root)
index_store.verify(root, full=True, review="run")
for kind in index_store.KINDS:
    index_store.query(root, kind)
print(json.dumps(opened))
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)

    made = [[state.database.name, True], [index_files.SCRATCH_NAME, True]]
    opened = json.loads(done.stdout)
    assert {name for name, _ in made} == {name for name, _ in opened}
    assert all(is_new for _, is_new in opened)
