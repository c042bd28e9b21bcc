"""How a command ended, and what it took."""

import os
import signal
import sys
from dataclasses import dataclass

from agent_workflow.tracer import _clock


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process.

    Attributes:
        code: exit code, negative for a signal.
        user_seconds, system_seconds: CPU time, with that of the children it waited for.
        peak_rss_bytes: most memory that it or one of those had.
        at: when, as the trace writes times.
        moment: the same as POSIX time.
    """

    code: int
    user_seconds: float
    system_seconds: float
    peak_rss_bytes: int
    at: str
    moment: float

    @classmethod
    def told(cls, words: list[str]) -> "Ended":
        """Read the front's message: status, CPU of user and system, peak memory in the system's unit, time."""
        unit = 1 if sys.platform == "darwin" else 1024
        moment = float(words[4])
        code = os.waitstatus_to_exitcode(int(words[0]))
        return cls(code, float(words[1]), float(words[2]), int(words[3]) * unit, _clock.stamp(moment), moment)

    @property
    def fault(self) -> str:
        """Why this was no good end, empty when it was."""
        if self.code >= 0:
            return f"exit code {self.code}" if self.code else ""
        try:
            return f"ended by {signal.Signals(-self.code).name}"
        except ValueError:
            return f"ended by signal {-self.code}"

    def figures(self, began: str) -> dict[str, object]:
        """Return what a reader of the trace is told.

        Args:
            began: when the command was started.
        """
        start = _clock.parse_time(began)
        seconds = None if start is None else max(0.0, self.moment - start.timestamp())
        return {
            "exit_code": self.code if self.code >= 0 else None,
            "signal": self.fault.removeprefix("ended by ") if self.code < 0 else None,
            "duration_ms": None if seconds is None else round(seconds * 1000, 1),
            "health": {
                "cpu_user_seconds": self.user_seconds,
                "cpu_system_seconds": self.system_seconds,
                "peak_rss_bytes": self.peak_rss_bytes,
            },
        }
