"""Who may ask, what may be asked, and what never leaves the session's directory."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import Trace, client_of, fill

from agent_workflow.visualizer import ServeOptions, serve
from agent_workflow.visualizer._guard import Door
from agent_workflow.visualizer._serving import CannotServe

pytestmark = pytest.mark.slow

ARCHIVE = "/api/sessions/aaaa0001/archive"


@pytest.fixture
def filled(trace: Trace) -> Trace:
    """Fill the trace, and its directory with files, one of them a link out of it."""
    fill(trace)
    agent = trace.path.parent / "sessions" / "aaaa0001" / "builder"
    (agent / "prompts").mkdir(parents=True)
    (agent / "raw_output.jsonl").write_bytes(b'{"type": "session"}\n' + "é".encode() * 100)
    (agent / "prompts" / "user.md").write_text("Build it")
    (agent / "binary").write_bytes(b"\x00\xff\xfe")
    secret = trace.path.parent / "secret.txt"
    secret.write_text("secret")
    (agent / "link").symlink_to(secret)
    (agent.parent / "linked").symlink_to(trace.path.parent)
    return trace


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4600", "127.0.0.1.evil.example", "", "localhost@evil", "[::1"]
)
def test_a_foreign_host_is_refused(host: str, filled: Trace, client: TestClient) -> None:
    """A name that was rebound to this machine gets nothing, the page included."""
    for route in ("/api/sessions", "/"):
        reply = client.get(route, headers={"host": host})

        assert 403 == reply.status_code
        assert "foreign_host" == reply.json()["problem"]


@pytest.mark.parametrize("host", ["127.0.0.1:4600", "localhost:4600", "[::1]:4600", "LOCALHOST:4600"])
def test_our_own_names_are_let_in(host: str, filled: Trace, tmp_path: Path) -> None:
    """With the port that the server listens on."""
    client = client_of([filled.path], tmp_path, door=Door(port=4600))

    assert 200 == client.get("/api/sessions", headers={"host": host}).status_code
    assert 403 == client.get("/api/sessions", headers={"host": host.replace("4600", "4601")}).status_code


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example", "file://", "http://localhost:1@evil"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(origin: str, method: str, filled: Trace, client: TestClient) -> None:
    """Another page can neither read nor write."""
    address = ARCHIVE if method == "POST" else "/api/sessions"
    body = {"archived": True} if method == "POST" else None

    reply = client.request(method, address, json=body, headers={"origin": origin})

    assert 403 == reply.status_code
    assert 0 == filled.connection.execute("SELECT archived FROM sessions").fetchone()[0]


def test_a_request_that_the_browser_calls_cross_site_is_refused(filled: Trace, client: TestClient) -> None:
    """Pages cannot leave that header out."""
    assert 403 == client.get("/api/sessions", headers={"sec-fetch-site": "cross-site"}).status_code
    assert 200 == client.get("/api/sessions", headers={"sec-fetch-site": "same-origin"}).status_code


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_post_writes(method: str, filled: Trace, client: TestClient) -> None:
    """Every other method is refused and changes nothing."""
    reply = client.request(method, ARCHIVE)

    assert 405 == reply.status_code
    assert 0 == filled.connection.execute("SELECT archived FROM sessions").fetchone()[0]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_write_must_be_called_json(kind: str, filled: Trace, client: TestClient) -> None:
    """What a form of another page can send is not enough."""
    reply = client.post(ARCHIVE, content=b'{"archived": true}', headers={"content-type": kind})

    assert 415 == reply.status_code
    assert 0 == filled.connection.execute("SELECT archived FROM sessions").fetchone()[0]


def test_a_large_body_is_refused(filled: Trace, client: TestClient) -> None:
    """With a length, and without one."""
    large = b'{"archived": true, "x": "' + b"x" * 70_000 + b'"}'
    headers = {"content-type": "application/json"}

    assert 413 == client.post(ARCHIVE, content=large, headers=headers).status_code
    assert 413 == client.post(ARCHIVE, content=iter([large[:40_000], large[40_000:]]), headers=headers).status_code
    assert 0 == filled.connection.execute("SELECT archived FROM sessions").fetchone()[0]


TRAVERSALS = [
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "builder/../../../secret.txt",
    "builder%2f..%2f..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "builder/link",
    "linked/secret.txt",
    "linked",
    "builder",
    "builder//raw_output.jsonl",
    "builder/raw_output.jsonl%00",
    "builder\\..\\..\\secret.txt",
    "%2e",
    "%2e%2e",
    "builder/%2e",
    "%252e%252e/secret.txt",
    "a" * 300,
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leaves_the_session_directory(path: str, filled: Trace, client: TestClient) -> None:
    """Neither dots nor links lead out; what is no regular file is no file."""
    reply = client.get(f"/api/sessions/aaaa0001/files/{path}")

    assert reply.status_code in (400, 404), reply.text
    assert "secret" not in reply.text.replace("secret.txt", "")


@pytest.mark.parametrize("agent", ["..", "%2e%2e", "..%2f..", "a%2fb", "linked", "builder%00", "é"])
def test_no_agent_name_leaves_the_session_directory(agent: str, filled: Trace, client: TestClient) -> None:
    """An agent is one folder of the session."""
    reply = client.get(f"/api/sessions/aaaa0001/agents/{agent}/prompts")

    assert reply.status_code in (200, 400, 404)
    if reply.status_code == 200:
        assert {"system": None, "user": None, "sends": []} == reply.json()


def test_files_are_listed_without_links(filled: Trace, client: TestClient) -> None:
    """What is listed can be read; a link is neither."""
    paths = [file["path"] for file in client.get("/api/sessions/aaaa0001/files").json()]

    assert ["builder/binary", "builder/prompts/user.md", "builder/raw_output.jsonl"] == paths
    for path in paths:
        assert 200 == client.get(f"/api/sessions/aaaa0001/files/{path}").status_code


def test_a_piece_of_a_file_tells_where_it_goes_on(filled: Trace, client: TestClient) -> None:
    """Bounded pieces, from the beginning and from the end; a cut character does not make text binary."""
    address = "/api/sessions/aaaa0001/files/builder/raw_output.jsonl"
    first = client.get(address, params={"limit": 21}).json()
    last = client.get(address, params={"offset": -3}).json()

    assert (0, 20, 20, 220) == (first["offset"], first["length"], first["next_offset"], first["size"])
    assert "utf-8" == first["encoding"]
    assert ("\ufffdé", None) == (last["content"], last["next_offset"])
    assert 400 == client.get(address, params={"limit": 2_000_000}).status_code
    assert "base64" == client.get("/api/sessions/aaaa0001/files/builder/binary").json()["encoding"]


def test_every_reply_bears_the_headers(filled: Trace, client: TestClient) -> None:
    """Data, errors, the page, refusals and 304: all of them."""
    etag = client.get("/api/sessions").headers["etag"]
    replies = [
        client.get("/api/sessions"),
        client.get("/api/sessions", headers={"if-none-match": etag}),
        client.get("/api/nothing"),
        client.get("/"),
        client.get("/", headers={"host": "evil.example"}),
    ]

    for reply in replies:
        assert "default-src 'none'; script-src 'self'" in reply.headers["content-security-policy"]
        assert "'unsafe" not in reply.headers["content-security-policy"]
        assert "nosniff" == reply.headers["x-content-type-options"]
        assert "no-referrer" == reply.headers["referrer-policy"]
        assert "same-origin" == reply.headers["cross-origin-opener-policy"]
        assert "same-origin" == reply.headers["cross-origin-resource-policy"]
    assert ["no-store"] * 3 == [reply.headers["cache-control"] for reply in replies[:3]]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "\u202etxt.exe", "a\x00b", "x" * 1_000_000, "\ud800"]
)
def test_hostile_text_crosses_as_json(text: str, filled: Trace, client: TestClient) -> None:
    """Whatever a field holds, the reply is JSON with that text in it."""
    filled.connection.execute("UPDATE sessions SET request = CAST(? AS TEXT)", (text.encode("utf-8", "surrogatepass"),))
    filled.connection.execute("UPDATE phases SET error = ?", (text.encode("utf-8", "replace").decode(),))

    reply = client.get("/api/sessions")

    assert "application/json" == reply.headers["content-type"]
    assert reply.json()[0]["request"].startswith(text[:2] if text != "\ud800" else "\ufffd")


@pytest.mark.parametrize(
    "route", ["/api", "/api/", "/api/nothing", "/api/sessions/", "/api/sessions/a/b/c/d", "/api/fleet"]
)
def test_unknown_api_routes_are_json_404(route: str, client: TestClient) -> None:
    """Never the page: a program must not get HTML."""
    reply = client.get(route)

    assert 404 == reply.status_code
    assert reply.json()["error"]


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/__init__.py", "/..%2f__init__.py", "/core/../../_app.py", "/.hidden"]
)
def test_the_page_has_no_way_out_either(path: str, client: TestClient) -> None:
    """Only files below the page's folder are served."""
    reply = client.get(path)

    assert "import" not in reply.text or reply.headers["content-type"].startswith("text/html")


def test_a_foreign_host_to_bind_needs_a_token() -> None:
    """And the token must be hard to guess."""
    with pytest.raises(CannotServe, match="--token"):
        serve(ServeOptions((), host="0.0.0.0", port=0), print)
    with pytest.raises(CannotServe, match="16 characters"):
        serve(ServeOptions((), host="0.0.0.0", port=0, token="short"), print)


def test_with_a_token_nothing_is_answered_without_it(filled: Trace, tmp_path: Path) -> None:
    """The address trades it for a cookie; programs send it in a header."""
    token = "t" * 20
    client = client_of([filled.path], tmp_path, door=Door(hosts=("*",), token=token))

    assert [401, 401] == [client.get("/").status_code, client.get("/api/sessions").status_code]
    assert 401 == client.get("/?token=wrong").status_code
    assert 200 == client.get("/api/sessions", headers={"authorization": f"Bearer {token}"}).status_code

    entered = client.get(f"/?token={token}", follow_redirects=False)

    assert (303, "/") == (entered.status_code, entered.headers["location"])
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert 200 == client.get("/api/sessions", headers={"host": "machine.lan:4600"}).status_code


def test_reading_writes_nothing(filled: Trace, client: TestClient) -> None:
    """All reads together leave the files as they were."""
    filled.close()
    before = {path: path.read_bytes() for path in filled.path.parent.rglob("*") if path.is_file()}
    for route in (
        "/api/sessions",
        "/api/sessions/aaaa0001",
        "/api/sessions/aaaa0001/events",
        "/api/health",
        "/api/facets",
    ):
        client.get(route)

    after = {path: path.read_bytes() for path in filled.path.parent.rglob("*") if path.is_file()}

    assert before == {path: data for path, data in after.items() if path in before}
    assert {"sssf.db-wal", "sssf.db-shm"} >= {path.name for path in set(after) - set(before)}


def test_no_state_of_the_index_is_made_by_asking(client: TestClient, tmp_path: Path) -> None:
    """Without an index the routes say so, and none appears."""
    replies: dict[str, Any] = {
        route: client.get(f"/api/fleet/{route}") for route in ("runs", "attention", "verify", "spend")
    }

    assert {503} == {reply.status_code for reply in replies.values()}
    assert {"index_missing"} == {reply.json()["problem"] for reply in replies.values()}
    assert "missing" == client.get("/api/fleet/status").json()["freshness"]
    assert not (tmp_path / "state-root").exists()
