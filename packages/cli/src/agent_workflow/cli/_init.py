"""``agent-workflow init``: everything a repository needs to record its first workflow."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def init_command(
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Put a configuration, prompts, an example workflow and recipes into the current repository."""
    from agent_workflow.tracer.starter import write_starter

    root = _repository(Path.cwd())
    try:
        files = write_starter(root, force=force)
    except OSError as error:
        sys.stderr.write(f"agent-workflow: {error.filename}: {error.strerror}; check its permissions\n")
        raise typer.Exit(1) from error
    if as_json:
        content = [{"path": str(file.path), "outcome": file.outcome} for file in files]
        sys.stdout.write(json.dumps({"schema": "agent-workflow/init/v1", "root": str(root), "files": content}) + "\n")
        return
    for file in files:
        sys.stdout.write(f"{file.outcome:<11}  {file.path.relative_to(root)}\n")
    sys.stdout.write('\nTry: python3 adws/adw_example.py "Add a greeting", then agent-workflow trace sessions\n')


def _repository(start: Path) -> Path:
    """Return the root of the repository that a folder is in, or the folder itself outside of one."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start
