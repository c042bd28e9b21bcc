"""Turning SIGTERM, SIGINT and SIGHUP into an orderly end, and noticing every other way out."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

from agent_workflow.tracer._shield import Shield

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class WayOut:
    """Watches how the process ends while a run is open.

    Attributes:
        reason: why the process is on its way out, empty while it is not.
    """

    def __init__(self, shield: Shield, close: Callable[[str], None]) -> None:
        """Remember what to do; nothing is installed yet.

        Args:
            shield: delays the exception of a signal while a record is half written.
            close: called once with the reason, if the process ends while the run is open.
        """
        self.reason = ""
        self._shield = shield
        self._close = close
        self._pid = os.getpid()
        self._previous: dict[signal.Signals, Any] = {}
        self._previous_hook = sys.excepthook
        self._is_open = False

    def install(self) -> None:
        """Begin to watch; signals only where this thread may handle them."""
        self._is_open = True
        atexit.register(self._at_exit)
        self._previous_hook, sys.excepthook = sys.excepthook, self._uncaught
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
                self._previous[number] = signal.signal(number, self._signalled)

    def remove(self) -> None:
        """Stop watching; the run has ended by itself."""
        if not self._is_open:
            return
        self._is_open = False
        atexit.unregister(self._at_exit)
        if sys.excepthook == self._uncaught:
            sys.excepthook = self._previous_hook
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._previous.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._pid:  # a forked child that kept our handlers
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if self.reason:
            return  # already on the way out; a second signal must not interrupt the closing
        self.reason = signal.Signals(number).name
        self._shield.interrupt(SystemExit(128 + number))

    def _uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self.reason = self.reason or f"{kind.__name__}: {error}"
        self._previous_hook(kind, error, trace)

    def _at_exit(self) -> None:
        if self._is_open and os.getpid() == self._pid:
            self.reason = self.reason or "the workflow ended without finish()"
            self._close(self.reason)
