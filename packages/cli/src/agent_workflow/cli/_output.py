"""The two streams: answers go to stdout, everything else to stderr."""

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

_LEAST_COLUMNS = 20
_MOST_COLUMNS = 10_000


class AnswerNotWritten(Exception):
    """Standard output takes no more, for example on a full disk."""


def prepare_stdout() -> None:
    """Let a character that the encoding of stdout does not have become a question mark, not an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def say(*lines: str) -> None:
    """Write lines of an answer.

    Raises:
        BrokenPipeError: the reader is gone.
        AnswerNotWritten: there is no room for it.
    """
    with _writing():
        if sys.stdout is not None:
            sys.stdout.write("".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise AnswerNotWritten(error.strerror) from error


def tell(line: str) -> None:
    """Write a line that is no part of the answer; nobody may be listening."""
    if sys.stderr is not None:
        from agent_workflow.cli._terminal_text import printable

        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"agent-workflow: {printable(line)}\n")
            sys.stderr.flush()


def show_document(document: Mapping[str, object]) -> None:
    """Write one JSON document: a field a line, and in a list of objects an object a line.

    Everything outside of ASCII is escaped, so that the document is safe on a terminal and fits every encoding.
    """
    say("{\n" + ",\n".join(f"{json.dumps(name)}: {_value(value)}" for name, value in document.items()) + "\n}")


def show_trace_document(name: str, database: Path, **fields: object) -> None:
    """Write the document ``agent-workflow/<name>/v1`` about a trace database."""
    show_document({"schema": f"agent-workflow/{name}/v1", "database": str(database), **fields})


def _value(value: object) -> str:
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(_one_line(item) for item in value) + "\n]"
    return _one_line(value)


def _one_line(value: object) -> str:
    # Databases of other writers may hold what JSON has no form for.
    return json.dumps(value, default=str).replace("\x7f", "\\u007f")


def flush_stdout() -> None:
    """Hand over what was written.

    Raises:
        BrokenPipeError: the reader is gone.
        AnswerNotWritten: there is no room for it.
    """
    with _writing():
        if sys.stdout is not None:
            sys.stdout.flush()


def abandon_stdout() -> None:
    """Let what could not be written go, so that the interpreter's last flush does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal that understands more than lines."""
    return stream is not None and not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Return the columns to fit: ``COLUMNS``, else of the first stream that is a terminal, else 80."""
    if not os.environ.get("COLUMNS", "").isdigit():
        for descriptor in (1, 2, 0):  # behind a pipe the terminal is still at one of the others
            with contextlib.suppress(OSError):
                if columns := os.get_terminal_size(descriptor).columns:
                    return _within_reason(columns)
    return _within_reason(shutil.get_terminal_size().columns)


def _within_reason(columns: int) -> int:
    return min(max(columns, _LEAST_COLUMNS), _MOST_COLUMNS)


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


class Palette:
    """Colours for stdout; none where it is no terminal or ``NO_COLOR`` is set."""

    def __init__(self) -> None:
        self.enabled = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")

    def paint(self, text: str, colour: str | None) -> str:
        """Return the text in a colour."""
        if not self.enabled or colour is None or not text:
            return text
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def wrapped(text: str, width: int, indent: str = "") -> Iterable[str]:
    """Break a sentence into lines of at most ``width`` columns; a word that is longer stays whole."""
    import textwrap

    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
