"""What holds for every test that crosses packages."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def signals_are_not_ignored() -> Iterator[None]:
    """Let what is started take SIGINT and SIGHUP; in the background or under nohup it would not, by inheritance."""
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session", autouse=True)
def the_callers_terminal_is_left_out() -> Iterator[None]:
    """Let no exported width and no wish for colours decide how an answer looks."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        yield
