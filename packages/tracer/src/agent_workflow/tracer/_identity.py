"""Is the process behind a recorded pid still the one that was recorded? Decided before anything is signalled."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Literal

from agent_workflow.tracer import _clock
from agent_workflow.tracer._processes import Process

ProcessState = Literal["alive", "gone", "recycled", "zombie", "invalid"]

_CLOCK_SLACK_SECONDS: Final = 3.0
_COMMAND_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class RecordedProcess:
    """A row of ``processes``; what an older writer did not record is ``None``."""

    id: int
    adw_id: str
    kind: str | None
    name: str | None
    pid: int | None
    command: str | None
    started_at: str | None
    ended_at: str | None
    start_marker: str | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "RecordedProcess":
        """Read a row of the table; columns that are missing are ``None``."""
        cells: dict[str, Any] = {name: row.get(name) for name in cls.__dataclass_fields__}
        return cls(**cells)

    def row(self) -> dict[str, object]:
        """Return the columns of the table."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def judge(recorded: RecordedProcess, living: Process | None) -> ProcessState:
    """Compare a recorded process with the one that has its pid now.

    Args:
        recorded: what the trace says.
        living: what the system says, ``None`` for no such process.

    Returns:
        ``alive`` only when the start time and the command both agree.
    """
    if recorded.pid is None or recorded.pid <= 0:
        return "invalid"
    if living is None:
        return "gone"
    if not _same_start(recorded, living) or not (living.is_zombie or _may_be_called(recorded, living)):
        return "recycled"
    return "zombie" if living.is_zombie else "alive"


def recorded_command(words: list[str]) -> str:
    """Write a command as a trace keeps it: the program's name without its folder, then the arguments."""
    if not words:
        return ""
    return " ".join([PurePath(words[0]).name or words[0], *words[1:]])[:_COMMAND_CHARACTERS]


def same_command(recorded: str, living: str) -> bool:
    """Tell whether a living command is the recorded one.

    The recorded one may lack the interpreter (``adw_plan.py good`` for ``python3 adws/adw_plan.py good``), is cut to
    500 characters, and may hold redacted words.
    """
    wanted, found = recorded.split(), living.split()
    if not wanted:
        return False
    was_cut = len(recorded) >= _COMMAND_CHARACTERS
    for start in range(len(found)):
        rest = found[start:]
        if len(rest) < len(wanted):
            return False
        if not was_cut and len(rest) != len(wanted):
            continue
        pairs = list(zip(wanted, rest, strict=False))
        whole = all(_same_word(word, other) for word, other in pairs[:-1])
        if whole and (_same_word(*pairs[-1]) or (was_cut and pairs[-1][1].startswith(pairs[-1][0]))):
            return True
    return False


def _same_word(recorded: str, living: str) -> bool:
    return "[redacted" in recorded or recorded == living or PurePath(recorded).name == PurePath(living).name


def _may_be_called(recorded: RecordedProcess, living: Process) -> bool:
    command = recorded.command or ""
    if same_command(command, living.command):
        return True
    words = living.command.split()
    if len(words) != 1:
        return False
    # A program may replace its arguments by its own short name (pi does): then that name was recorded, or the start
    # time, exact to a tick of this boot, stands for the command.
    return bool(recorded.start_marker) or PurePath(words[0]).name in {PurePath(word).name for word in command.split()}


def _same_start(recorded: RecordedProcess, living: Process) -> bool:
    if recorded.start_marker:
        return recorded.start_marker == living.start_marker
    written = _clock.parse_time(recorded.started_at)
    # A process that started after its row was written is another one.
    return written is None or living.started <= written.timestamp() + _CLOCK_SLACK_SECONDS
