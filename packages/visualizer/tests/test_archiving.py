"""Archiving: the one thing that the page writes."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import BASE, Trace, at

from agent_workflow.visualizer._archive_flags import ArchiveFlags
from agent_workflow.visualizer._errors import NotKept


def test_an_archived_session_leaves_the_list_and_comes_back(trace: Trace, client: TestClient) -> None:
    """The flag can be undone; every reply bears it."""
    trace.session("aaaa0001")

    put = client.post("/api/sessions/aaaa0001/archive", json={"archived": True})

    assert {"adw_id": "aaaa0001", "archived": True, "kept": "database"} == put.json()
    assert [] == client.get("/api/sessions").json()
    assert [1] == [row["archived"] for row in client.get("/api/sessions?archived=1").json()]
    assert 1 == client.get("/api/sessions/aaaa0001").json()["session"]["archived"]

    undone = client.post("/api/sessions/aaaa0001/archive", json={"archived": False})

    assert undone.json()["archived"] is False
    assert [0] == [row["archived"] for row in client.get("/api/sessions").json()]


def test_an_empty_object_means_archive(trace: Trace, client: TestClient) -> None:
    """As older viewers send it."""
    trace.session("aaaa0001")

    assert client.post("/api/sessions/aaaa0001/archive", json={}).json()["archived"] is True


def test_a_running_session_is_refused_with_the_reason(trace: Trace, client: TestClient) -> None:
    """Its process lives: 409, and nothing is written."""
    trace.session("aaaa0001", status="running")
    command = Path("/proc/self/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()[:500]
    trace.insert("processes", adw_id="aaaa0001", kind="adw", pid=os.getpid(), command=command, started_at=_now())
    trace.event("aaaa0001", started_at=_now())

    reply = client.post("/api/sessions/aaaa0001/archive", json={"archived": True})

    assert 409 == reply.status_code
    assert "is running" in reply.json()["error"]
    assert [0] == [row["archived"] for row in client.get("/api/sessions").json()]


def test_a_lost_session_may_be_archived(trace: Trace, client: TestClient) -> None:
    """It is stored as running, and dead: nobody waits for it."""
    trace.session("aaaa0001", status="running")
    trace.insert("processes", adw_id="aaaa0001", kind="adw", pid=2**22 + 1, command="x", started_at=at(0))

    assert 200 == client.post("/api/sessions/aaaa0001/archive", json={"archived": True}).status_code


def test_a_database_without_the_column_is_not_written_to(tmp_path: Any, serve: Any) -> None:
    """The flag of an older database is kept beside, and shown as if it were in it."""
    trace = Trace(tmp_path / "old" / "sssf.db", BASE)
    trace.session("aaaa0001")
    trace.session("aaaa0002", start=60)
    trace.close()
    before = trace.path.read_bytes()
    client: TestClient = serve(trace.path)

    reply = client.post("/api/sessions/aaaa0001/archive", json={"archived": True})

    assert "beside" == reply.json()["kept"]
    assert ["aaaa0002"] == [row["adw_id"] for row in client.get("/api/sessions").json()]
    assert ["aaaa0001"] == [row["adw_id"] for row in client.get("/api/sessions?archived=1").json()]
    assert 1 == client.get("/api/sessions/aaaa0001").json()["session"]["archived"]
    assert 1 == client.get("/api/facets").json()["archived"]
    assert before == trace.path.read_bytes()


def test_flags_beside_outlive_the_server_and_can_be_undone(tmp_path: Any, serve: Any) -> None:
    """Another server reads the same file."""
    trace = Trace(tmp_path / "old" / "sssf.db", BASE)
    trace.session("aaaa0001")
    trace.close()
    serve(trace.path).post("/api/sessions/aaaa0001/archive", json={"archived": True})
    other: TestClient = serve(trace.path)

    assert [] == other.get("/api/sessions").json()

    other.post("/api/sessions/aaaa0001/archive", json={"archived": False})

    assert 1 == len(other.get("/api/sessions").json())


def test_a_null_flag_counts_as_not_archived(trace: Trace, client: TestClient) -> None:
    """Some writers leave it NULL."""
    trace.session("aaaa0001", archived=None)

    assert [0] == [row["archived"] for row in client.get("/api/sessions").json()]


def test_a_poll_notices_that_another_server_archived(trace: Trace, client: TestClient, serve: Any) -> None:
    """The ETag changes with the flag."""
    trace.session("aaaa0001")
    etag = client.get("/api/sessions").headers["etag"]
    serve(trace.path).post("/api/sessions/aaaa0001/archive", json={"archived": True})

    reply = client.get("/api/sessions", headers={"if-none-match": etag})

    assert (200, []) == (reply.status_code, reply.json())


@pytest.mark.parametrize(
    "body", ['{"archived": "yes"}', '{"archived": 1}', "[]", "{", '{"archive": true}', "null garbage"]
)
def test_a_malformed_body_changes_nothing(body: str, trace: Trace, client: TestClient) -> None:
    """400 with what is wrong."""
    trace.session("aaaa0001")

    reply = client.post("/api/sessions/aaaa0001/archive", content=body, headers={"content-type": "application/json"})

    assert 400 == reply.status_code
    assert reply.json()["error"]
    assert 0 == sqlite3.connect(trace.path).execute("SELECT archived FROM sessions").fetchone()[0]


def test_an_unknown_session_is_404(client: TestClient) -> None:
    """Nothing is kept for it."""
    assert 404 == client.post("/api/sessions/nobody/archive", json={}).status_code


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"/db": 3}', b'{"/db": {"a": "yes"}}', b"\xff"])
def test_a_damaged_file_of_flags_holds_none(content: bytes, tmp_path: Any) -> None:
    """Losing the file loses only which sessions were put away."""
    path = tmp_path / "archived.json"
    path.write_bytes(content)
    flags = ArchiveFlags(path)

    assert {} == flags.of(Path("/db"))

    flags.put(Path("/db"), "aaaa0001", archived=True)

    assert {"/db": {"aaaa0001": True}} == json.loads(path.read_text())


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds")


def test_flags_that_cannot_be_read_are_not_written_over(tmp_path: Any) -> None:
    """Who asks gets none of them; who would keep one more is told, and the file stays as it is."""
    path = tmp_path / "archived.json"
    path.symlink_to(path)
    flags = ArchiveFlags(path)

    assert {} == flags.of(Path("/db"))
    with pytest.raises(NotKept, match="cannot be kept"):
        flags.put(Path("/db"), "aaaa0001", archived=True)

    assert path.is_symlink()
