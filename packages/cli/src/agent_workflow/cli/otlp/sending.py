"""OTLP over HTTP: one request after the other, tried again where the receiver asks for it."""

import email.utils
import gzip
import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agent_workflow.cli._failure import CommandFailed, Failure
from agent_workflow.cli.otlp.encoding import as_json
from agent_workflow.cli.otlp.receiver import Receiver

Protocol = Literal["protobuf", "json"]

_ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_TIMEOUT: Final = 30.0
_MOST_ANSWER: Final = 64 * 1024
_MOST_WORDS: Final = 300
_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})
_BAD_REQUEST: Final = frozenset({400, 413})
"""This request is at fault, and the next one need not be: such spans count as refused."""
_CONTENT_TYPES: Final = {"protobuf": "application/x-protobuf", "json": "application/json"}
_ODD: Final = "(an answer that is none of OTLP; see that the address is a receiver's)"


@dataclass(frozen=True)
class Accepted:
    """What a receiver said: how many spans it refused, and its own words."""

    rejected: int
    message: str


class Endpoint:
    """Sends to a receiver of OTLP over HTTP."""

    def __init__(
        self,
        receiver: Receiver,
        protocol: Protocol = "protobuf",
        pause: Callable[[float], None] = time.sleep,
        note: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Prepare to send; nothing is sent yet.

        Args:
            receiver: where to.
            protocol: how requests are encoded.
            pause: waits so many seconds before a request is tried again.
            note: told why, and how long.
        """
        self.receiver = receiver
        self._protocol = protocol
        self._headers = {**receiver.headers, "Content-Type": _CONTENT_TYPES[protocol]}
        if receiver.gzip:
            self._headers["Content-Encoding"] = "gzip"
        self._pause = pause
        self._note = note
        # What is on this machine is never behind a proxy, whatever the environment says for the rest of the world.
        proxies = (urllib.request.ProxyHandler({}),) if receiver.is_loopback else ()
        self._opener = urllib.request.build_opener(_NoRedirects(), *proxies)

    def send(self, request: Any) -> Accepted:  # noqa: ANN401 - a generated message
        """Send one ``ExportTraceServiceRequest``.

        Raises:
            CommandFailed: the receiver takes none at all, or cannot be reached after several tries.
        """
        body = request.SerializeToString() if self._protocol == "protobuf" else as_json(request).encode()
        if self.receiver.gzip:
            body = gzip.compress(body, mtime=0)
        for attempt in range(1, _ATTEMPTS + 1):
            wait = min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)
            try:
                return self._post(body)
            except urllib.error.HTTPError as error:
                with error:
                    reason = f"HTTP {error.code} {error.reason}"
                    asked = _retry_after(error.headers.get("Retry-After"))
                    if error.code in _BAD_REQUEST:
                        return Accepted(_span_count(request), f"{reason}{_words_of(error)}")
                    if error.code not in _TRY_AGAIN:
                        raise self._failed(f"{reason}{_words_of(error)}") from error
                wait = wait if asked is None else min(asked, _LONGEST_PAUSE)
            except (OSError, http.client.HTTPException) as error:
                cause = getattr(error, "reason", None) or error
                reason = str(cause) or type(error).__name__
                if isinstance(cause, ssl.SSLCertVerificationError):
                    raise self._failed(reason) from error
            if attempt < _ATTEMPTS:
                self._note(f"{self.receiver.url}: {reason}; again in {wait:.0f} s")
                self._pause(wait)
        raise self._failed(f"{reason}, after {_ATTEMPTS} tries")

    def _post(self, body: bytes) -> Accepted:
        post = urllib.request.Request(self.receiver.url, body, self._headers, method="POST")  # noqa: S310 - http(s) only
        with self._opener.open(post, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read(_MOST_ANSWER)
            return _accepted(content, answer.headers.get("Content-Type", ""))

    def _failed(self, reason: str) -> CommandFailed:
        hint = (
            "see that a receiver of OTLP over HTTP listens there (usually at port 4318; 4317 is for gRPC); "
            "what has arrived is not doubled by another export"
        )
        return CommandFailed(Failure("endpoint_failed", f"{self.receiver.url}: {reason}", hint=hint))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A receiver that sends elsewhere is an error: headers may hold a secret that is meant for this one."""

    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        return None


def _span_count(request: Any) -> int:  # noqa: ANN401 - a generated message
    return sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)


def _words_of(error: urllib.error.HTTPError) -> str:
    """Return what a refusal says, where it is meant for people."""
    kind = error.headers.get("Content-Type", "")
    if not kind.startswith(("text/plain", "application/json")):
        return ""
    try:
        words = " ".join(error.read(_MOST_ANSWER).decode("utf-8", "replace").split())
    except (OSError, http.client.HTTPException):
        return ""
    return f": {words[:_MOST_WORDS]}" if words else ""


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
