"""The views of ``docs/sql``, made to speak of one dataset, and the engines that run them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""For machines of Java that live a minute: without them most of that goes into compiling what runs once."""

ROOT = Path(__file__).parents[3]
Rows = list[dict[str, Any]]


def views_for(engine: str, dataset: Path, folder: Path) -> Path:
    """Write the views of an engine, as the documentation says to."""
    text = (ROOT / "docs" / "sql" / f"{engine}.sql").read_text(encoding="utf-8")
    views = folder / f"{engine}.sql"
    views.write_text(text.replace("@DATASET@", str(dataset)), encoding="utf-8")
    return views


def statements(script: Path) -> list[str]:
    """Cut a script into its statements."""
    text = re.sub(r"^--.*$", "", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def ask(program: str, views: Path, names: Iterable[str], *arguments: str) -> dict[str, Rows]:
    """Run one of the ``ask_…`` programs beside this file and return the rows of each view."""
    command = [sys.executable, str(Path(__file__).with_name(program)), str(views), *arguments, *names]
    environment = os.environ | {"JAVA_TOOL_OPTIONS": JAVA_OPTIONS}
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, env=environment)
    assert done.returncode == 0, f"{program} exited {done.returncode}: {done.stderr[-2000:]}"
    answers: dict[str, Rows] = json.loads(done.stdout.splitlines()[-1])
    return answers
