"""Where spans go: an address that was named or that the environment gives, as every exporter of OTLP reads it."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from agent_workflow.cli._failure import usage_error

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True)
class Receiver:
    """A receiver of OTLP over HTTP.

    Attributes:
        url: with its path.
        headers: sent with each request, for example an authorization; never shown.
        gzip: requests are compressed.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    gzip: bool = False

    @property
    def is_loopback(self) -> bool:
        """It is on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def is_in_the_clear(self) -> bool:
        """Whoever is between here and there can read along."""
        return self.url.startswith("http:") and not self.is_loopback


def receiver_of(named: str | None, environment: Mapping[str, str]) -> Receiver | None:
    """Return the receiver that is meant.

    Args:
        named: an address; the usual path is added to one that has none.
        environment: gives the address where none is named, and headers and compression, all as
            ``OTEL_EXPORTER_OTLP_TRACES_…`` or, for every signal, ``OTEL_EXPORTER_OTLP_…``.

    Returns:
        The receiver, ``None`` where neither names one.

    Raises:
        CommandFailed: the address is none, or a variable cannot be read.
    """
    url = _address(named, environment)
    if url is None:
        return None
    compression = _variable(environment, "COMPRESSION")[1] or "none"
    if compression not in ("gzip", "none"):
        raise usage_error(f"OTEL_EXPORTER_OTLP_COMPRESSION is {compression!a}", "gzip or none")
    name, headers = _variable(environment, "HEADERS")
    return Receiver(url, headers_from(headers, name), compression == "gzip")


def _address(named: str | None, environment: Mapping[str, str]) -> str | None:
    if named is not None:
        return _checked(named, usual_path=True)
    protocol = _variable(environment, "PROTOCOL")[1]
    name, url = _variable(environment, "ENDPOINT")
    if not url:
        return None
    if protocol == "grpc":
        raise usage_error(f"{name} is meant for gRPC, and this sends over HTTP", "name its HTTP port with --endpoint")
    if "_TRACES_" in name:
        return _checked(url, usual_path=False)
    return _checked(f"{url.rstrip('/')}/v1/traces", usual_path=False)


def _variable(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return a variable's name and value; that for traces comes before that for every signal, empty is unset."""
    both = (f"OTEL_EXPORTER_OTLP_TRACES_{name}", f"OTEL_EXPORTER_OTLP_{name}")
    found = [(variable, value) for variable in both if (value := environment.get(variable, "").strip())]
    return found[0] if found else (both[1], "")


def headers_from(text: str, variable: str = "OTEL_EXPORTER_OTLP_HEADERS") -> dict[str, str]:
    """Read headers: ``name=value`` pairs with commas between, values percent-encoded.

    Raises:
        CommandFailed: it is not of that form; its values are not told.
    """
    headers = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        value = unquote(value.strip())
        if not equals or not _TOKEN.fullmatch(name.strip()) or not (value.isascii() and value.isprintable()):
            raise usage_error(
                f"{variable} cannot be read", "write name=value,name=value with the values percent-encoded"
            )
        headers[name.strip()] = value
    return headers


def _checked(url: str, *, usual_path: bool) -> str:
    if "@" in url.partition("//")[2].partition("/")[0]:  # first, because other faults are told with the address
        raise usage_error("the address holds a password", "put an authorization header into OTEL_EXPORTER_OTLP_HEADERS")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise usage_error(f"{url!r} is no address of a receiver", "an address such as http://127.0.0.1:4318")
    if not usual_path or parts.path.strip("/"):
        return urlunsplit(parts)
    return urlunsplit(parts._replace(path="/v1/traces"))
