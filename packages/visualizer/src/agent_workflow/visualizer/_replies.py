"""Replies as bytes: JSON once, with an ETag, and 304 without a body when the reader has it already."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response


def json_bytes(value: Any) -> bytes:  # noqa: ANN401 - whatever JSON can hold
    """Write JSON as UTF-8; lone surrogates, which JSON text may smuggle in, become replacement characters."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    return text.encode("utf-8", "replace")


def tag(*parts: object) -> str:
    """Name a state of a reply."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "replace"), digest_size=12)
    return f'"{digest.hexdigest()}"'


def tag_of(data: bytes) -> str:
    """Name the content of a reply."""
    return f'"{hashlib.blake2b(data, digest_size=12).hexdigest()}"'


def is_known(request: Request, etag: str) -> bool:
    """Tell whether the reader says that it has this state."""
    return knows(request.headers.get("if-none-match"), etag)


def knows(given: str | None, etag: str) -> bool:
    """Tell whether an ``If-None-Match`` header holds an ETag."""
    return given is not None and (given == etag or etag in [part.strip() for part in given.split(",")])


def unchanged(etag: str) -> Response:
    """Answer that nothing has changed."""
    return Response(None, 304, {"etag": etag})


def reply(value: Any, etag: str | None = None, headers: Mapping[str, str] | None = None) -> Response:  # noqa: ANN401
    """Answer with a JSON document."""
    sent = dict(headers or {})
    if etag is not None:
        sent["etag"] = etag
    return Response(json_bytes(value), 200, sent, media_type="application/json")
