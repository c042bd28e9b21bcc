"""A reply leaves in one piece, and never another one, a later one or a part of one."""

import asyncio
from typing import Any

import pytest

from agent_workflow.visualizer._one_write import OneWriteTransport

HEAD, BODY, LARGE = b"head\r\n\r\n", b"body", b"x" * 100_000


class Wire(asyncio.Transport):
    """Notes what is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[bytes | str] = []

    def write(self, data: Any) -> None:
        """Note a piece."""
        self.done.append(bytes(data))

    def close(self) -> None:
        """Note the end."""
        self.done.append("closed")

    def is_closing(self) -> bool:
        """Tell whether it was closed."""
        return "closed" in self.done


def written(*turns: tuple[bytes | None, ...]) -> list[bytes | str]:
    """Write the pieces of each turn of the loop, ``None`` closes; return what came to the wire."""

    async def run() -> list[bytes | str]:
        wire = Wire()
        transport = OneWriteTransport(wire)
        for turn in turns:
            for piece in turn:
                if piece is None:
                    transport.close()
                else:
                    transport.write(piece)
            await asyncio.sleep(0)
        assert transport.is_closing() == wire.is_closing()
        return wire.done

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param(((HEAD, BODY, b""),), [HEAD + BODY], id="head-and-body"),
        pytest.param(((HEAD, b"", b""),), [HEAD], id="no-body"),
        pytest.param(((b"",), (b"",)), [], id="nothing"),
        pytest.param(((HEAD,), (BODY,)), [HEAD, BODY], id="a-body-that-comes-later"),
        pytest.param(((HEAD, LARGE, BODY),), [HEAD, LARGE, BODY], id="what-is-large-is-not-copied"),
        pytest.param(((HEAD, None),), [HEAD, "closed"], id="closed-in-the-same-turn"),
        pytest.param(((HEAD, BODY), (None,)), [HEAD + BODY, "closed"], id="closed-after-it"),
    ],
)
def test_what_is_written_comes_in_order_and_in_time(
    turns: tuple[tuple[bytes | None, ...], ...], expected: list[bytes | str]
) -> None:
    """Whatever follows a head: nothing is lost, nothing waits beyond its turn."""
    assert expected == written(*turns)


def test_a_writer_without_a_pause_is_not_kept_in_memory() -> None:
    """Much that is written in one turn goes to the transport, which tells when its reader is slow."""

    async def run() -> list[bytes | str]:
        wire = Wire()
        transport = OneWriteTransport(wire)
        for _ in range(100):
            transport.write(b"x" * 1_000)
        return wire.done

    assert sum(map(len, asyncio.run(run()))) > 60_000
