"""The files of the page, from the package itself, read once: a page of another version never meets this server."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from fastapi import Request, Response

from agent_workflow.visualizer._errors import UnknownThing
from agent_workflow.visualizer._joined import join_modules, join_sheets
from agent_workflow.visualizer._replies import knows, tag_of

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "map": "application/json",
    "mjs": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
    "woff2": "font/woff2",
}
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_@-][A-Za-z0-9_.@-]{0,127}\Z")
_MAIN: Final = "main.js"
_LATER: Final = ("fleet/fleet.js",)
"""Modules that are imported when they are needed, each joined with what main.js does not hold already."""
_SHEET: Final = "css/page.css"


class _File(NamedTuple):
    data: bytes
    etag: str
    media_type: str


class Page:
    """All files, by address; the page is told how many databases are served, so that it need not ask first."""

    def __init__(self, databases: int) -> None:
        read = dict(_walk(files(__package__) / "page", ""))
        read["index.html"] = read["index.html"].replace(b"<html ", b'<html data-databases="%d" ' % databases, 1)
        texts = {path: data.decode("utf-8") for path, data in read.items() if path.endswith((".js", ".css"))}
        joined = {path: text.encode("utf-8") for path, text in _joined(texts).items()}
        self._files = {path: _file(path, data) for path, data in (read | joined).items()}

    def reply(self, request: Request, path: str) -> Response:
        """Answer with a file; an address without a file name is the page itself.

        Raises:
            UnknownThing: there is no such file.
        """
        parts = [part for part in path.split("/") if part]
        found = self._files.get("/".join(parts)) if all(map(_SEGMENT.match, parts)) else None
        if found is None and (not parts or "." not in parts[-1]):
            found = self._files.get("index.html")
        if found is None:
            raise UnknownThing("no such file")
        # Asked about every time, answered from memory: the page is never older than its server.
        headers = {"etag": found.etag, "cache-control": "no-cache"}
        if knows(request.headers.get("if-none-match"), found.etag):
            return Response(None, 304, headers)
        return Response(found.data, 200, headers, media_type=found.media_type)


def is_apart(path: str) -> bool:
    """Tell which modules stay files of their own: libraries, and what begins before the rest has come."""
    return path.startswith("vendor/") or path == "early.js"


def _joined(texts: Mapping[str, str]) -> dict[str, str]:
    later = {path: join_modules(texts, path, is_apart, _MAIN) for path in _LATER}
    return {_MAIN: join_modules(texts, _MAIN, is_apart), **later, _SHEET: join_sheets(texts, _SHEET)}


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif _SEGMENT.match(entry.name):
            yield path, entry.read_bytes()


def _file(path: str, data: bytes) -> _File:
    return _File(data, tag_of(data), _TYPES.get(path.rpartition(".")[2], "application/octet-stream"))
