"""What every request passes first: where it comes from, how large it is; and the headers that every reply bears."""

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import parse_qs, urlencode

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_workflow.visualizer._errors import Problem, error_reply, log, problem_of

MAX_BODY: Final = 65_536
COOKIE: Final = "agent_workflow_token"

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_LOOKED_AT: Final = frozenset(
    {b"host", b"origin", b"sec-fetch-site", b"authorization", b"cookie", b"content-length", b"content-type"}
)
_NO_STORE: Final = (b"cache-control", b"no-store")
_LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Door:
    """Who may come in.

    Attributes:
        port: that the server listens on; ``None`` lets any port pass, for tests that do not know it.
        hosts: names it may be called by beside the loopback ones; ``*`` for any, which needs a token.
        token: that must be shown, none on loopback.
    """

    port: int | None = None
    hosts: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    @lru_cache(maxsize=256)  # noqa: B019 - as many doors as applications
    def admits_host(self, host: str) -> bool:
        """Tell whether a Host header names this server; a foreign name may be a rebound one."""
        match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?", host)
        if match is None:
            return False
        name, port = match[1].lower(), int(match[2] or 80)
        if self.port is not None and port != self.port:
            return False
        return name in _LOCAL or "*" in self.hosts or name in self.hosts

    def admits_origin(self, origin: str) -> bool:
        """Tell whether a page of this origin is ours."""
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and self.admits_host(host)


class Guard:
    """Pure ASGI: it sees every request, and streams replies untouched."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            await self._http(scope, receive, _Sender(send, is_api=_is_api(scope)))

    async def _http(self, scope: Scope, receive: Receive, send: "_Sender") -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _LOOKED_AT}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await error_reply(refusal)(scope, receive, send)
            return
        entry = self._entry(scope)
        if entry is not None:
            await send({"type": "http.response.start", "status": 303, "headers": entry})
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            await self.app(scope, _bounded(receive), send)
        except Exception as error:
            log.exception("a request met a fault")
            if send.started:
                raise
            await error_reply(problem_of(error))(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> Problem | None:
        if not self.door.admits_host(headers.get(b"host", "")):
            return Problem(403, "this server is not called by that name; open it under its own address", "foreign_host")
        origin = headers.get(b"origin")
        if origin is not None and not self.door.admits_origin(origin):
            return Problem(403, "requests of other pages are not answered", "foreign_origin")
        if _is_api(scope) and headers.get(b"sec-fetch-site") in ("cross-site", "same-site"):
            return Problem(403, "requests of other pages are not answered", "foreign_origin")
        if self.door.token is not None and not self._shows_token(scope, headers):
            return Problem(401, "open the address that the server printed: it holds the token", "no_token")
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            return _TOO_LARGE
        if scope["method"] == "POST" and headers.get(b"content-type", "").split(";")[0].strip() != "application/json":
            return Problem(415, "send JSON (content-type: application/json)", "no_json")
        return None

    def _shows_token(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        shown = [headers.get(b"authorization", "").removeprefix("Bearer ")]
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get(b"cookie", ""))
        except Exception:  # noqa: BLE001 - a malformed cookie is no token
            cookies.clear()
        if COOKIE in cookies:
            shown.append(cookies[COOKIE].value)
        if scope["method"] == "GET":
            shown += parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        wanted = (self.door.token or "").encode()
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), wanted) for one in shown)

    def _entry(self, scope: Scope) -> list[tuple[bytes, bytes]] | None:
        """Trade a token in the address for a cookie, so that it does not stay in the address."""
        if self.door.token is None or _is_api(scope):
            return None
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if "token" not in query:
            return None
        del query["token"]
        place = "/" + (f"?{urlencode(query, doseq=True)}" if query else "")
        cookie = f"{COOKIE}={self.door.token}; HttpOnly; SameSite=Strict; Path=/"
        return [(b"location", place.encode("latin-1")), (b"set-cookie", cookie.encode("latin-1"))]


class _Sender:
    """Adds the headers that every reply bears."""

    def __init__(self, send: Send, *, is_api: bool) -> None:
        self.started = False
        self._send = send
        self._headers = [*_HEADERS, _NO_STORE] if is_api else list(_HEADERS)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = [*message.get("headers", ()), *self._headers]
        await self._send(message)


def _is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/api" or path.startswith("/api/")


_TOO_LARGE: Final = Problem(413, f"a request may carry at most {MAX_BODY:,} bytes", "too_large")


def _bounded(receive: Receive) -> Receive:
    taken = 0

    async def receive_bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY:
            # Of a kind that FastAPI lets pass while it reads a body.
            raise HTTPException(_TOO_LARGE.status, _TOO_LARGE.error)
        return message

    return receive_bounded


def loopback(host: str) -> bool:
    """Tell whether an address to bind is this machine only."""
    return host in ("127.0.0.1", "localhost", "::1") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))


def names_of(host: str) -> Iterable[str]:
    """Return the names a server bound to a host may be called by."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return ("*",)
    return (f"[{host}]" if ":" in host else host.lower(),)
