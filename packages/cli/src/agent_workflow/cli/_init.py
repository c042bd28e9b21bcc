"""``agent-workflow init``: everything a repository needs to record its first workflow."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_workflow.cli._call import AsJson, Call
from agent_workflow.cli._output import say, show_document
from agent_workflow.cli._terminal_text import printable


def init_command(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a configuration, prompts, an example workflow and recipes into the current repository."""
    from agent_workflow.tracer.starter import write_starter

    call = Call.of(context, as_json, None)
    root = _repository(Path.cwd())
    files = write_starter(root, force=force)
    if call.as_json:
        content = [{"path": str(file.path), "outcome": file.outcome} for file in files]
        show_document({"schema": "agent-workflow/init/v1", "root": str(root), "files": content})
        return
    say(
        *(f"{file.outcome:<11}  {printable(str(file.path.relative_to(root)))}" for file in files),
        "",
        f'Try: {_python()} adws/adw_example.py "Add a greeting", then agent-workflow trace sessions',
    )


def _python() -> str:
    """Name a Python that has the tracer as it is typed: the one that runs this, in short where that finds it."""
    here = Path(sys.executable)
    found = shutil.which("python3")
    return "python3" if found is not None and Path(found).parent == here.parent else shlex.quote(str(here))


def _repository(start: Path) -> Path:
    """Return the root of the repository that a folder is in, or the folder itself outside of one."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start
