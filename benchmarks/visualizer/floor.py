"""The floor: a bare Starlette route that returns the same bytes, served by uvicorn as the page's server is.

usage: python floor.py FILE STATUS ETAG
"""

import socket
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

body = Path(sys.argv[1]).read_bytes()
status = int(sys.argv[2])
headers = {"etag": sys.argv[3]} if sys.argv[3] else {}


async def same(_request: Request) -> Response:
    """Return the same bytes."""
    return Response(body or None, status, headers, media_type="application/json" if body else None)


listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listener.bind(("127.0.0.1", 0))
listener.listen(128)
sys.stderr.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
sys.stderr.flush()
config = uvicorn.Config(
    Starlette(routes=[Route("/same", same)]), log_level="warning", access_log=False, server_header=False
)
uvicorn.Server(config).run(sockets=[listener])
