"""The repository of the demo: what ``agent-workflow init`` writes, and two more scripts for its builder to play."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from agent_workflow.cli._failure import CommandFailed, Failure
from agent_workflow.cli._output import say

GOOD: Final = "greeting"
UNTRUE: Final = "greeting-untrue"
HUNG: Final = "greeting-hung"

WORKFLOW: Final = "adws/adw_example.py"
REQUEST: Final = "Add a greeting"
PLAYED: Final = "adws/example.builder.json"
UNTRUE_BUILDER: Final = "builder-that-claims-too-much.json"
HUNG_BUILDER: Final = "builder-that-hangs.json"

_STARTED: Final = "hanging"
_PATIENCE_SECONDS: Final = 30.0
_LINES_SHOWN: Final = 3
_TOKENS: Final = re.compile(rb'("output_tokens": ?)([0-9])')


def add_builders(repository: Path) -> None:
    """Write the scripts of a builder that claims a file it never writes, and of one whose command never ends."""
    untrue = {"text": json.dumps({"summary": "Done", "artifacts": ["farewell.py"], "changed_files": ["farewell.py"]})}
    command = f"touch {_STARTED}; sleep 600"
    hung = {"text": "I wait for the server.", "tools": [{"name": "bash", "arguments": {"command": command}}]}
    _write_script(repository / UNTRUE_BUILDER, untrue)
    _write_script(repository / HUNG_BUILDER, hung)


def take_builder(repository: Path, script: str) -> None:
    """Let the builder play another script."""
    shutil.copyfile(repository / script, repository / PLAYED)


def play(repository: Path, session: str, *, quiet: bool) -> int:
    """Run the example workflow to its end and show the last lines of what it says, as ``2>&1 | tail -3`` does.

    Args:
        repository: where it is.
        session: the session's id.
        quiet: show nothing.

    Returns:
        Its exit code.
    """
    done = subprocess.run(  # noqa: S603 - our own interpreter runs our own example
        _command(session),
        cwd=repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if not quiet:
        say(*done.stdout.splitlines()[-_LINES_SHOWN:])
    return done.returncode


def play_and_kill(repository: Path, session: str) -> None:
    """Run the example workflow until its agent hangs in a tool, then kill it as a machine out of memory would.

    Raises:
        CommandFailed: it did not come that far.
    """
    workflow = subprocess.Popen(  # noqa: S603 - our own interpreter runs our own example
        _command(session), cwd=repository, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + _PATIENCE_SECONDS
    try:
        while not (repository / _STARTED).exists():
            if workflow.poll() is not None or time.monotonic() > deadline:
                raise CommandFailed(Failure("demo_failed", "the workflow that was to hang did not get to its tool"))
            time.sleep(0.02)
    finally:
        workflow.kill()
        workflow.wait()


def forge(file: Path) -> bytes:
    """Change the first digit of the first ``output_tokens`` of a sealed file.

    Returns:
        What was in the file.
    """
    sealed = file.read_bytes()
    _rewrite(file, _TOKENS.sub(lambda found: found[1] + bytes([found[2][0] ^ 1]), sealed, count=1))
    return sealed


def mend(file: Path, sealed: bytes) -> None:
    """Put back what was in a sealed file."""
    _rewrite(file, sealed)


def _rewrite(file: Path, content: bytes) -> None:
    mode = file.stat().st_mode
    file.chmod(0o600)
    file.write_bytes(content)
    file.chmod(mode)


def _command(session: str) -> list[str]:
    return [sys.executable, WORKFLOW, REQUEST, session]


def _write_script(path: Path, turn: dict[str, Any]) -> None:
    path.write_text(json.dumps({"sends": [{"turns": [turn]}]}, indent=2) + "\n", encoding="utf-8")
