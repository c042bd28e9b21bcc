"""A state root that things happen to, and its index as rows: what the equivalence tests play with."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import apsw
from traced_runs import traced_launch

from agent_workflow import index_store

TIMES_OF_INDEXING = {"indexed_at", "detected_at"}
Rows = dict[str, list[tuple[object, ...]]]


def status_document(session_id: str, *, status: str = "running") -> bytes:
    """Return a small valid ``status.json``."""
    return _json(
        {
            "schema": "agent-workflow/session-status/v2",
            "session_id": session_id,
            "status": status,
            "created_at": "2026-07-01T00:00:00+00:00",
            "workdir": "/srv/work",
            "prompt_path": "prompt.md",
            "log_path": "output.log",
        }
    )


def permission_record(number: int, *, state: str = "pending") -> bytes:
    """Return one line of ``permission-events.jsonl``."""
    return _json(
        {
            "schema": "agent-workflow/permission-event/v1",
            "event_id": f"{number:024x}",
            "session_id": "any",
            "recorded_at": "2026-07-01T00:00:00+00:00",
            "principal": None,
            "operation": "execute",
            "resource_class": "command",
            "target": f"target {number}",
            "requested_access": None,
            "state": state,
            "source": "terminal",
            "policy_rule_id": None,
            "evidence_sha256": "e" * 64,
            "remediation_class": "human_required",
        }
    )


def workflow_snapshot(workflow_id: str, pack_id: str) -> bytes:
    """Return a workflow of one node."""
    return _json(
        {
            "schema": "agent-workflow/workflow-snapshot/v1",
            "workflow_id": workflow_id,
            "pack_id": pack_id,
            "pack_manifest_sha256": "3" * 64,
            "nodes": [{"node_id": "build", "dependencies": []}],
        }
    )


def _json(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


SEALED_FILES = (
    *("prompt.md", "launch-prompt.md", "completion.md", "executor-stderr.log", "output.log", "patch.diff"),
    *("command.json", "source-baseline.json", "completion.json", "run-provenance.json", "executor-events.jsonl"),
    *("final-status.json", "collections/completion.json"),
)


def seal(run: Path, session_id: str) -> None:
    """Turn a run directory into a sealed one; its documents follow no contract, which a receipt does not ask for."""
    artifacts = []
    for name in SEALED_FILES:
        path = run / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b'{"name":"x"}\n' if name.endswith((".json", ".jsonl")) else b"text\n")
        content = path.read_bytes()
        artifacts.append({"path": name, "size": len(content), "sha256": sha256(content).hexdigest()})
    receipt = run / "final-receipt.json"
    receipt.unlink(missing_ok=True)
    receipt.write_bytes(
        _json(
            {
                "schema": "agent-workflow/final-receipt/v1",
                "session_id": session_id,
                "sealed_at": "2026-07-01T01:00:00+00:00",
                "artifacts": artifacts,
            }
        )
    )
    receipt.chmod(0o444)


class Playground:
    """A state root and the things that happen to one; every step is safe to call in any state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("runs", "archive"):
            (root / name).mkdir(mode=0o700)
        root.chmod(0o700)
        self.records = 0

    def run(self, session_id: str) -> Path | None:
        """Return a run's directory, active before archived; None where there is none or it is a link."""
        places = (self.root / kind / session_id for kind in ("runs", "archive"))
        return next((path for path in places if path.is_dir() and not path.is_symlink()), None)

    def happen(self, step: str, session_id: str) -> None:
        """Do the step of that name to a run."""
        action = getattr(self, step)
        action(session_id)

    def create(self, session_id: str) -> None:
        """Write a new run, or write its status again."""
        run = self.run(session_id) or self.root / "runs" / session_id
        if not os.path.lexists(run):
            run.mkdir()
        if run.is_dir() and not run.is_symlink():
            self._put(run / "status.json", status_document(session_id))

    def append(self, session_id: str) -> None:
        """Append a record to a journal."""
        self._append(session_id, self._next_record() + b"")

    def append_torn(self, session_id: str) -> None:
        """Append half a record; the next append completes no record of it."""
        self._append(session_id, self._next_record()[:40])

    def append_unknown(self, session_id: str) -> None:
        """Append a record of a newer writer."""
        self._append(session_id, b'{"schema":"agent-workflow/permission-event/v9"}\n')

    def truncate(self, session_id: str) -> None:
        """Cut a journal in half, in place."""
        if path := self._journal(session_id):
            os.truncate(path, path.stat().st_size // 2)

    def replace_same_size(self, session_id: str) -> None:
        """Rewrite a journal in place with as many other bytes, and give it back its time."""
        path = self._journal(session_id)
        if path is None:
            return
        before = path.stat()
        content = path.read_bytes()
        swapped = content.replace(b"pending", b"cleared") if b"pending" in content else content.swapcase()
        with path.open("r+b") as file:
            file.write(swapped)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def rotate(self, session_id: str) -> None:
        """Begin a journal anew on the same inode."""
        if path := self._journal(session_id):
            path.write_bytes(self._next_record())

    def rename_file(self, session_id: str) -> None:
        """Give a journal another name."""
        if path := self._journal(session_id):
            path.rename(path.with_name("renamed.jsonl"))

    def delete_file(self, session_id: str) -> None:
        """Remove the status."""
        if (run := self.run(session_id)) and (run / "status.json").exists():
            (run / "status.json").unlink()

    def delete_run(self, session_id: str) -> None:
        """Remove a whole run."""
        if run := self.run(session_id):
            shutil.rmtree(run)

    def archive(self, session_id: str) -> None:
        """Move a run to the archive."""
        target = self.root / "archive" / session_id
        if (run := self.run(session_id)) and not os.path.lexists(target):
            run.rename(target)

    def copy_to_archive(self, session_id: str) -> None:
        """Leave a run in both places."""
        target = self.root / "archive" / session_id
        if (run := self.run(session_id)) and not os.path.lexists(target):
            shutil.copytree(run, target, symlinks=True)

    def retire(self, session_id: str) -> None:
        """Make a run one of a retired format."""
        if run := self.run(session_id):
            self._put(run / "a.json", _json({"schema": "agent-workflow/execution-metrics/retired-v1"}))

    def change_mode(self, session_id: str) -> None:
        """Change a file's mode."""
        if (run := self.run(session_id)) and (run / "status.json").exists():
            (run / "status.json").chmod(0o600)

    def corrupt(self, session_id: str) -> None:
        """Write something that is no JSON into the middle of a journal."""
        self._append(session_id, b"{no json}\n")

    def link(self, session_id: str) -> None:
        """Put a link where a source may be."""
        if (run := self.run(session_id)) and not os.path.lexists(run / "link.json"):
            (run / "link.json").symlink_to("status.json")

    def repair(self, session_id: str) -> None:
        """Remove whatever is wrong with a run."""
        if run := self.run(session_id):
            for name in ("link.json", "a.json", "permission-events.jsonl", "renamed.jsonl"):
                (run / name).unlink(missing_ok=True)

    def seal_run(self, session_id: str) -> None:
        """Seal a run."""
        if run := self.run(session_id):
            seal(run, session_id)

    def touch_sealed(self, session_id: str) -> None:
        """Change a sealed artifact that is no source."""
        if (run := self.run(session_id)) and (run / "output.log").exists():
            (run / "output.log").write_bytes(b"txet\n")

    def own_workflow(self, session_id: str) -> None:
        """Hold the files of a workflow that other runs hold as well."""
        if run := self.run(session_id):
            self._put(run / "workflow-snapshot.json", workflow_snapshot("shared", f"pack of {session_id}"))

    def leave_workflow(self, session_id: str) -> None:
        """Hold them no longer."""
        if run := self.run(session_id):
            (run / "workflow-snapshot.json").unlink(missing_ok=True)

    def record_workflow(self, session_id: str) -> None:
        """Become a recorded workflow, whose trace lies elsewhere each time."""
        if run := self.run(session_id):
            self.records += 1
            launch = traced_launch(session_id, database=f"/srv/{self.records}.db")
            self._put(run / "launch-contract.json", _json(launch))

    def forget_workflow(self, session_id: str) -> None:
        """Be one no longer."""
        if run := self.run(session_id):
            (run / "launch-contract.json").unlink(missing_ok=True)

    def stray(self, session_id: str) -> None:
        """Leave a file beside the runs."""
        path = self.root / "runs" / f"not a run {session_id}"
        if not path.exists():
            path.write_bytes(b"")

    def _journal(self, session_id: str) -> Path | None:
        run = self.run(session_id)
        path = None if run is None else run / "permission-events.jsonl"
        return path if path is not None and path.exists() else None

    def _append(self, session_id: str, content: bytes) -> None:
        if run := self.run(session_id):
            with (run / "permission-events.jsonl").open("ab") as file:
                file.write(content)

    def _put(self, path: Path, content: bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    def _next_record(self) -> bytes:
        self.records += 1
        return permission_record(self.records)


def dump(root: Path) -> Rows:
    """Return the rows of every table, without the times of indexing and the name of the generation."""
    connection = apsw.Connection(
        f"file:{root}/index/agent-workflow.sqlite3?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        tables = [
            str(row[0])
            for row in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )
        ]
        return {table: _dump_table(connection, table) for table in tables if table != "schema_migrations"}
    finally:
        connection.close()


def _dump_table(connection: apsw.Connection, table: str) -> list[tuple[object, ...]]:
    columns = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
    kept = [column for column in columns if column not in TIMES_OF_INDEXING]
    rows = connection.execute(f"SELECT {', '.join(kept)} FROM {table}").fetchall()
    if table == "index_metadata":
        rows = [row for row in rows if row[0] not in ("generation", "last_sync_at")]
    return sorted(rows, key=repr)


@contextmanager
def playground() -> Iterator[Playground]:
    """Give a new state root that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Playground(Path(folder))


def rebuilt(root: Path) -> Rows:
    """Delete the database, build it anew and return its rows."""
    shutil.rmtree(root / "index")
    index_store.rebuild(root)
    return dump(root)
