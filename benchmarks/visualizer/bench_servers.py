"""Server processes, and connections that are kept alive: what a benchmark of a server needs."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


class Connection:
    """One connection kept alive: sends prepared requests and reads whole replies."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = port

    def ask(self, path: str, etag: str | None = None) -> tuple[int, dict[str, str], bytes]:
        """Send a request and return status, headers and body."""
        self.send(request(self.port, path, etag))
        return self.receive()

    def send(self, data: bytes) -> None:
        """Send a prepared request."""
        self.socket.sendall(data)

    def receive(self) -> tuple[int, dict[str, str], bytes]:
        """Read one reply."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        wanted = int(headers.get("content-length", 0))
        parts = [body]
        missing = wanted - len(body)
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        return int(lines[0].split()[1]), headers, b"".join(parts)

    def _more(self) -> bytes:
        more = self.socket.recv(262_144)
        if not more:
            raise SystemExit("a server closed the connection")
        return more


def request(port: int, path: str, etag: str | None = None) -> bytes:
    """Write a request."""
    known = f"if-none-match: {etag}\r\n" if etag else ""
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{known}\r\n".encode("latin-1")


@dataclass
class Server:
    """A server process."""

    process: subprocess.Popen[str]
    port: int

    @property
    def memory(self) -> float:
        """Largest resident size so far, MiB."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found[1]) / 1024 if found else float("nan")

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICK


@contextmanager
def started(*command: str) -> Iterator[Server]:
    """Start a server that prints its address."""
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                break
        else:
            raise SystemExit(f"a server did not start: {' '.join(command)}")
        yield Server(process, int(found[1]))
    finally:
        process.terminate()
        process.wait()
