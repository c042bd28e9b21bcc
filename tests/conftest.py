"""What holds for every test that crosses packages."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

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


@pytest.fixture
def mount_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a file system of a size such as ``64k``, once a test; the test is skipped where that is not allowed."""
    folder = tmp_path / "disk"

    def mount(size: str) -> Path:
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("there is no mount command here")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no file system can be mounted here: {error.stderr.strip()}")
        return folder

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", "-l", str(folder)], check=True)
