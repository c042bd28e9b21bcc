"""The recorder's process: writes the session while the front tells what happens; if the front dies, ends the command.

Whatever fails here is told to the user once and goes no further: the front does not wait for it.
"""

import io
import os
import sys
from collections import deque
from collections.abc import Iterator
from typing import Final

from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._keeper import kill_all
from agent_workflow.tracer.running._launch import MARK, Launch, mark_of, start_marker
from agent_workflow.tracer.running._session import Session

_SIGTERM: Final = 15
_PIECE: Final = 65_536


def record(launch: Launch, inbox: int, upstream: int) -> None:
    """Record one command until the front has told its end, or has gone.

    Args:
        launch: what is to be recorded.
        inbox: descriptor of what the front tells.
        upstream: descriptor of what it is answered.
    """
    answers = Upstream(upstream)
    answers.unsaid = f"session {launch.adw_id} failed in "  # how the command ended is told by its exit code alone
    sys.stderr = answers
    told = Inbox(inbox, launch)
    try:
        Session(launch, answers.answer).record(told)
    except SystemExit as ended:  # somebody asked this process, which the trace names, to end the run
        code = ended.code if isinstance(ended.code, int) else 128 + _SIGTERM
        answers.answer("stop", code - 128)
    except (TracerError, OSError) as error:
        hint = f" ({error.path})" if isinstance(error, TracerError) and error.path else ""
        answers.answer("say", f"this session is not recorded in full: {error}{hint}")
    except Exception as error:  # noqa: BLE001 - a fault of ours is told, and never the command's
        answers.answer("say", f"this session is not recorded in full: {type(error).__name__}: {error}")
    for _ in told:
        pass  # still watches over the command
    answers.answer("over")


class Upstream(io.TextIOBase):
    """The way back to the front; also what ``sys.stderr`` is here, so that every warning gets to the user.

    Attributes:
        unsaid: warnings that begin like this are left out.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.unsaid = ""
        self._descriptor = descriptor
        self._rest = ""

    def write(self, text: str) -> int:
        """Tell the whole lines of a warning."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            words = line.removeprefix("agent-workflow: ")
            if words.strip() and not (self.unsaid and words.startswith(self.unsaid)):
                self.answer("say", words)
        return len(text)

    def answer(self, *words: object) -> None:
        """Tell the front something; one that has gone hears nothing."""
        line = " ".join(map(str, words)).replace("\n", " ") + "\n"
        try:
            os.write(self._descriptor, line.encode("utf-8", "replace"))
        except OSError:
            return


class Inbox:
    """What the front tells, in order. When it falls silent before the end, it was killed; then the command is, too."""

    def __init__(self, descriptor: int, launch: Launch) -> None:
        self._descriptor = descriptor
        self._launch = launch
        self._commands: dict[int, str] = {}
        self._is_over = False
        self._lines: deque[bytes] = deque()
        self._rest = b""

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the words of each message; the last is ``done`` or ``killed``. Who stops in between may begin again."""
        while not self._is_over:
            if not self._lines:
                data = os.read(self._descriptor, _PIECE)
                if not data:
                    self._is_over = True
                    self._end_command()
                    yield ["killed"]
                    return
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._lines.extend(lines)
                continue
            words = self._lines.popleft().decode().split(" ")
            if words[0] == "start":
                self._commands[int(words[1])] = start_marker(int(words[1]))
            elif words[0] == "end":
                self._commands.clear()
            self._is_over = words[0] in ("done", "refused")
            yield words

    def _end_command(self) -> None:
        if self._launch.terminal is not None:
            self._launch.terminal.restore()
        living = {pid for pid, marker in self._commands.items() if marker == start_marker(pid) != "unknown"}
        kill_all(living, f"{MARK}={mark_of(self._launch.adw_id, os.getpid())}".encode())
