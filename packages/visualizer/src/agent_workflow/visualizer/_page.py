"""The files of the page, from the package itself; nothing is built, nothing is fetched from elsewhere."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import Request, Response

from agent_workflow.visualizer._errors import UnknownThing
from agent_workflow.visualizer._replies import tag_of

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


def page_file(request: Request, path: str) -> Response:
    """Answer with a file of the page; an address without a file name is the page itself.

    Raises:
        UnknownThing: there is no such file.
    """
    parts = [part for part in path.split("/") if part]
    found = _find(parts)
    if found is None and (not parts or "." not in parts[-1]):
        found = _find(["index.html"])
    if found is None:
        raise UnknownThing("no such file")
    data = found.read_bytes()
    etag = tag_of(data)
    # Asked about every time, answered from memory: a page of an older version never meets a newer server.
    headers = {"etag": etag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(None, 304, headers)
    ending = found.name.rpartition(".")[2]
    return Response(data, 200, headers, media_type=_TYPES.get(ending, "application/octet-stream"))


def _find(parts: list[str]) -> Traversable | None:
    place: Traversable = files(__package__) / "page"
    for part in parts:
        if not _SEGMENT.match(part):
            return None
        place = place / part
    return place if parts and place.is_file() else None
