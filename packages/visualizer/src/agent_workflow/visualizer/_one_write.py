"""A reply leaves in one piece, not as a head and a body by themselves.

uvicorn writes each of them: two system calls and two packets, and the reader is woken twice. For a short reply that
costs as much as everything that is done to find it.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as ChosenProtocol
else:
    ChosenProtocol = AutoHTTPProtocol

_MOST: Final = 65_536


class OneWriteTransport:
    """A transport that keeps what is written until the end of the loop's turn, and little of it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the transport's own
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write a piece at the end of this turn, or at once where much has come together."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _MOST:  # else a writer would never learn that its reader is slow
            self._flush()

    def close(self) -> None:
        """Close it once everything has been written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size <= _MOST:
            pieces = [b"".join(pieces)] if pieces else []
        for piece in pieces:
            self._transport.write(piece)


class OneWriteProtocol(ChosenProtocol):
    """The protocol that uvicorn would choose, over such a transport."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        one_write = OneWriteTransport(cast("asyncio.Transport", transport))
        super().connection_made(cast("asyncio.Transport", one_write))
