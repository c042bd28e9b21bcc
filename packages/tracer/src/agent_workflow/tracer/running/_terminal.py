"""A pseudo-terminal between the command and the user's terminal, where there is one.

Interactive (stdin and stdout are terminals): it is the command's controlling terminal, keys go through it untouched,
and the user's terminal is raw meanwhile. Otherwise it only stands in for the output that is a terminal; stdin is
handed to the command as it is, and the user's terminal keeps its settings.
"""

import fcntl
import os
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

_MOST_KEYS = 65_536
_IFLAG, _OFLAG, _CFLAG, _LFLAG, _CC = 0, 1, 2, 3, 6


class Terminal:
    """The user's terminal and the one that the command gets.

    Attributes:
        master: our end.
        slave: the command's end, -1 once it is closed on our side.
        output: the user's terminal, 1 or 2.
        outputs: which of 1 and 2 are terminals.
        is_interactive: stdin and stdout are.
        is_raw: the user's terminal is raw now.
        saved: its settings as they were.
        has_keys: the user may type more.
    """

    def __init__(self, outputs: list[int], *, is_interactive: bool) -> None:
        """Open the pseudo-terminal, with the settings and the size of the user's.

        Raises:
            OSError: there are no more pseudo-terminals.
        """
        self.outputs = outputs
        self.output = outputs[0]
        self.is_interactive = is_interactive
        self.is_raw = False
        self.has_keys = is_interactive
        self._keys = b""
        self.saved = termios.tcgetattr(self.output)
        self.master, self.slave = os.openpty()
        settings = termios.tcgetattr(self.output)
        if not is_interactive:
            settings[_OFLAG] &= ~termios.OPOST  # the user's terminal, which is not raw, does it
        termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        self.copy_size()
        os.set_blocking(self.master, False)

    @classmethod
    def of_standard_streams(cls) -> "Terminal | None":
        """Open one if an output is a terminal."""
        outputs = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]
        if not outputs:
            return None
        try:
            return cls(outputs, is_interactive=1 in outputs and os.isatty(0))
        except (OSError, termios.error):
            return None

    def enter(self) -> None:
        """Put the command's streams on its end, in the command's process, which leads a session of its own."""
        if self.is_interactive:
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            os.dup2(self.slave, 0)
        for descriptor in self.outputs:
            os.dup2(self.slave, descriptor)

    def close_slave(self) -> None:
        """Leave the other end to the command."""
        os.close(self.slave)
        self.slave = -1

    def keep(self) -> int:
        """Keep hold of the user's terminal under another number, for the recorder, who lets go of 1 and 2; return it.

        There ``restore`` sets it right, whatever has become of the process that had made it raw.
        """
        self.output = os.dup(self.output)
        self.is_raw = self.is_interactive
        return self.output

    def read_keys(self) -> bytes:
        """Read what the user has typed; nothing when there will be no more."""
        try:
            data = os.read(0, _MOST_KEYS)
        except OSError:
            data = b""
        self._keys += data
        self.has_keys = bool(data)
        return data

    @property
    def takes_keys(self) -> bool:
        """Whether the user's keys are to be read now."""
        return self.has_keys and self.is_raw and len(self._keys) < _MOST_KEYS

    @property
    def is_typing(self) -> bool:
        """Whether keys wait for the command."""
        return bool(self._keys)

    def type_keys(self) -> None:
        """Hand the user's keys on, as many as the command's terminal takes."""
        try:
            self._keys = self._keys[os.write(self.master, self._keys) :]
        except BlockingIOError:
            return
        except OSError:  # the command has closed its terminal
            self._keys = b""

    def make_raw(self) -> None:
        """Let keys through as they are, if the terminal is ours to do so now."""
        if not self.is_interactive or self.is_raw or not _is_in_foreground():
            return
        try:
            self.saved = termios.tcgetattr(self.output)  # the shell may have changed them meanwhile
        except termios.error:
            return  # it has gone, which a hang-up tells
        settings = [*self.saved[:_CC], list(self.saved[_CC])]
        settings[_IFLAG] &= ~(
            termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.INPCK | termios.ISTRIP
            | termios.IXON | termios.PARMRK
        )  # fmt: skip
        settings[_OFLAG] &= ~termios.OPOST
        settings[_CFLAG] = settings[_CFLAG] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        settings[_LFLAG] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.IEXTEN | termios.ISIG)
        settings[_CC][termios.VMIN], settings[_CC][termios.VTIME] = 1, 0
        try:
            termios.tcsetattr(self.output, termios.TCSANOW, settings)
        except termios.error:
            return  # it has gone, which a hang-up tells
        self.is_raw = True

    def restore(self) -> None:
        """Give the user's terminal its settings back; doing so twice is fine."""
        if self.is_raw:
            self.is_raw = False
            _restore_settings(self.output, self.saved)

    def hang_up(self) -> None:
        """Take the command's terminal from it: it reads the end, and cannot write, as at one that has gone."""
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self.master, inheritable=False)
        os.close(null)

    def copy_size(self) -> None:
        """Give the command's terminal the size of the user's; the system tells the command."""
        try:
            size = fcntl.ioctl(self.output, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        except OSError:
            return  # a terminal without a size

    def asks_to_suspend(self, keys: bytes, command: int) -> bool:
        """Tell whether keys hold the one that suspends, and the command's terminal gives it that meaning.

        Args:
            keys: not yet handed on.
            command: its process group; what it has put into another is suspended without us.
        """
        try:
            settings = termios.tcgetattr(self.master)
            if os.tcgetpgrp(self.master) != command:
                return False
        except (OSError, termios.error):
            return False
        key = settings[_CC][termios.VSUSP]
        return bool(settings[_LFLAG] & termios.ISIG) and isinstance(key, bytes) and key != b"\0" and key in keys


def _restore_settings(descriptor: int, settings: "termios._AttrReturn") -> None:
    """Set a terminal's settings, from the background, too; a terminal that has gone needs none."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        termios.tcsetattr(descriptor, termios.TCSANOW, settings)
    except (OSError, termios.error):
        return
    finally:
        signal.signal(signal.SIGTTOU, before)


def _is_in_foreground() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # a terminal, but not the one that controls us: nobody will stop us for using it
        return True
