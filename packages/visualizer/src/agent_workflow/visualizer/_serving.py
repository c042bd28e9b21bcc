"""Serving the application on this machine."""

import secrets
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn

from agent_workflow.visualizer._app import create_app
from agent_workflow.visualizer._errors import VisualizerError
from agent_workflow.visualizer._guard import Door, loopback, names_of
from agent_workflow.visualizer._one_write import OneWriteProtocol

DEFAULT_PORT: Final = 4600
_LEAST_TOKEN: Final = 16


class CannotServe(VisualizerError):
    """The address cannot be bound, or may not be bound like this."""


@dataclass(frozen=True)
class ServeOptions:
    """How to serve.

    Attributes:
        databases: trace databases.
        port: to listen on, 0 for any free one.
        host: to bind; anything but loopback needs a token.
        token: that every request must show.
        state_root: of the evidence index.
        open_browser: whether to open the page.
    """

    databases: tuple[Path, ...]
    port: int = DEFAULT_PORT
    host: str = "127.0.0.1"
    token: str | None = None
    state_root: Path | None = None
    open_browser: bool = False


def serve(options: ServeOptions, tell: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Args:
        options: how.
        tell: prints a line for the person who started it.

    Raises:
        CannotServe: the host needs a token, or the port is taken.
    """
    if not loopback(options.host) and options.token is None:
        raise CannotServe(
            f"--host {options.host} lets other machines in: give a --token too, for example {secrets.token_urlsafe(18)}"
        )
    if options.token is not None and len(options.token) < _LEAST_TOKEN:
        raise CannotServe(f"a token must have at least {_LEAST_TOKEN} characters")
    listener = _bind(options.host, options.port)
    port = int(listener.getsockname()[1])
    hosts = () if loopback(options.host) else tuple(names_of(options.host))
    app = create_app(
        options.databases, state_root=options.state_root, door=Door(port=port, hosts=hosts, token=options.token)
    )
    shown = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{shown}:{port}/" + (f"?token={options.token}" if options.token else "")
    tell(f"serving {len(options.databases)} trace database(s) at {address}")
    if options.open_browser:
        webbrowser.open(address)
    config = uvicorn.Config(
        app,
        http=OneWriteProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio sends small pieces at once only where it knows that a socket is of TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)  # from here on a browser that is quicker than the start waits instead of failing
    except OSError as error:
        listener.close()
        raise CannotServe(f"{host}:{port} cannot be bound: {error.strerror}; choose another --port") from error
    return listener
