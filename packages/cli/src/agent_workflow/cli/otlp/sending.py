"""OTLP over HTTP: one request after the other, tried again where the receiver asks for it."""

import email.utils
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agent_workflow.cli._failure import CommandFailed, Failure
from agent_workflow.cli.otlp.encoding import as_json

Protocol = Literal["protobuf", "json"]

_ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_TIMEOUT: Final = 30.0
_MOST_ANSWER: Final = 64 * 1024
_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})
_CONTENT_TYPES: Final = {"protobuf": "application/x-protobuf", "json": "application/json"}
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_ODD: Final = "(an answer that is none of OTLP; see that the address is a receiver's)"


@dataclass(frozen=True)
class Accepted:
    """What a receiver said: how many spans it refused, and its own words."""

    rejected: int
    message: str


class Endpoint:
    """A receiver of OTLP over HTTP."""

    def __init__(
        self,
        url: str,
        protocol: Protocol = "protobuf",
        headers: Mapping[str, str] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare to send; nothing is sent yet.

        Args:
            url: ``http`` or ``https``; the usual path is added to one that has none.
            protocol: how requests are encoded.
            headers: sent with each request, for example an authorization.
            pause: waits so many seconds before a request is tried again.

        Raises:
            CommandFailed: the address is none.
        """
        self.url = _with_path(url)
        self._protocol = protocol
        self._headers = {**(headers or {}), "Content-Type": _CONTENT_TYPES[protocol]}
        self._pause = pause
        self._opener = urllib.request.build_opener(_NoRedirects())

    def send(self, request: Any) -> Accepted:  # noqa: ANN401 - a generated message
        """Send one ``ExportTraceServiceRequest``.

        Raises:
            CommandFailed: the receiver refuses it, or cannot be reached after several tries.
        """
        body = request.SerializeToString() if self._protocol == "protobuf" else as_json(request).encode()
        for attempt in range(1, _ATTEMPTS + 1):
            wait = min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)
            try:
                return self._post(body)
            except urllib.error.HTTPError as error:
                with error:
                    reason = f"HTTP {error.code} {error.reason}"
                    asked = _retry_after(error.headers.get("Retry-After"))
                    if error.code not in _TRY_AGAIN:
                        raise self._failed(reason) from error
                wait = wait if asked is None else min(asked, _LONGEST_PAUSE)
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", None) or error) or type(error).__name__
            if attempt < _ATTEMPTS:
                self._pause(wait)
        raise self._failed(f"{reason}, after {_ATTEMPTS} tries")

    def _post(self, body: bytes) -> Accepted:
        post = urllib.request.Request(self.url, body, self._headers, method="POST")  # noqa: S310 - checked in _with_path
        with self._opener.open(post, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read(_MOST_ANSWER)
            return _accepted(content, answer.headers.get("Content-Type", ""))

    def _failed(self, reason: str) -> CommandFailed:
        hint = "see that a receiver of OTLP over HTTP listens there; what has arrived is not doubled by another export"
        return CommandFailed(Failure("endpoint_failed", f"{self.url}: {reason}", hint=hint))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A receiver that sends elsewhere is an error: headers may hold a secret that is meant for this one."""

    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        return None


def headers_from(text: str) -> dict[str, str]:
    """Read ``OTEL_EXPORTER_OTLP_HEADERS``: ``name=value`` pairs with commas between, values percent-encoded.

    Raises:
        CommandFailed: it is not of that form; its values are not told.
    """
    headers = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        value = unquote(value.strip())
        if not equals or not _TOKEN.fullmatch(name.strip()) or not (value.isascii() and value.isprintable()):
            hint = "write name=value,name=value with the values percent-encoded"
            raise CommandFailed(
                Failure("usage_error", "OTEL_EXPORTER_OTLP_HEADERS cannot be read", hint=hint, exit_code=2)
            )
        headers[name.strip()] = value
    return headers


def _with_path(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        hint = "an address such as http://127.0.0.1:4318"
        raise CommandFailed(Failure("usage_error", f"{url!r} is no address of a receiver", hint=hint, exit_code=2))
    if "@" in parts.netloc:
        hint = "put an authorization header into OTEL_EXPORTER_OTLP_HEADERS"
        raise CommandFailed(Failure("usage_error", "the address holds a password", hint=hint, exit_code=2))
    return urlunsplit(parts) if parts.path.strip("/") else urlunsplit(parts._replace(path="/v1/traces"))


def _retry_after(text: str | None) -> float | None:
    """Read seconds, or a date; ``None`` for neither."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return max(0.0, moment.timestamp() - time.time())


def _accepted(content: bytes, content_type: str) -> Accepted:
    """Read an answer. One that cannot be read still came with a good status; that it is odd is told."""
    response = ExportTraceServiceResponse()
    try:
        if content_type.startswith("application/json"):
            json_format.Parse(content, response, ignore_unknown_fields=True)
        else:
            response.ParseFromString(content)
    except (DecodeError, json_format.Error, ValueError, RecursionError):
        return Accepted(0, _ODD)
    told = response.partial_success
    return Accepted(max(0, told.rejected_spans), told.error_message)
