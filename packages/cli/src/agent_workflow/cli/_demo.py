"""``agent-workflow demo``: the whole chain on three recorded runs, in a scratch folder, without a key or a network."""

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from agent_workflow.cli import _demo_project as project
from agent_workflow.cli._call import AsJson, Call
from agent_workflow.cli._failure import EXIT_NOT_GOOD, EXIT_WRONG_CALL, CommandFailed, Failure, usage_error
from agent_workflow.cli._output import Palette, flush_stdout, say, show_document, terminal_width, wrapped


def demo(
    context: typer.Context,
    folder: Annotated[
        str | None, typer.Option("--dir", metavar="DIR", help="Write the sample there; a new folder or an empty one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Record three runs in a scratch folder, supervise them, and ask about them; nothing of yours is touched."""
    call = Call.of(context, as_json, None)
    if call.named_root is not None:
        raise usage_error("demo makes a state root of its own", "name its folder with --dir")
    scratch = _scratch_folder(folder)
    repository, root = scratch / "repository", scratch / "state"
    repository.mkdir()
    os.chdir(repository)  # so that the commands can be shown as they are typed
    os.environ["AGENT_WORKFLOW_STATE_ROOT"] = str(root)
    teller = _Teller(as_json=call.as_json)
    _tell_story(teller, repository, root)
    if call.as_json:
        document = {"schema": "agent-workflow/demo/v1", "state_root": str(root), "repository": str(repository)}
        show_document({**document, "good": teller.good, "steps": teller.steps})
    if not teller.good:
        raise typer.Exit(EXIT_NOT_GOOD)


def _scratch_folder(named: str | None) -> Path:
    if named is None:
        return Path(tempfile.mkdtemp(prefix="agent-workflow-demo-"))
    folder = Path(named).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "name a new folder, or an empty one"
        raise CommandFailed(
            Failure("not_empty", f"{folder} is there already", str(folder), hint=hint, exit_code=EXIT_WRONG_CALL)
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Teller:
    """Runs the commands of the story and tells it, or gathers their answers for one document."""

    def __init__(self, *, as_json: bool) -> None:
        self.good = True
        self.steps: list[dict[str, object]] = []
        self.is_quiet = as_json
        self._palette = Palette()
        self._number = 0
        self._follows_a_command = False

    def chapter(self, title: str) -> None:
        """Begin the next step of the story."""
        self._number += 1
        self._follows_a_command = False
        self.say("", *wrapped(f"{self._number}. {title}", min(terminal_width(), 100)))

    def say(self, *lines: str) -> None:
        """Tell something, unless a document is wanted."""
        if not self.is_quiet:
            say(*lines)

    def command(self, words: str, *, expected: int = 0) -> None:
        """Run a command of ours as it is shown; a different exit code makes the demo bad."""
        from agent_workflow.cli._app import run

        self._show(f"agent-workflow {words}")
        if self.is_quiet:
            with contextlib.redirect_stdout(io.StringIO()) as answer:
                code = run([*shlex.split(words), "--json"])
            self.steps.append(
                {"command": f"agent-workflow {words}", "exit_code": code, "answer": json.loads(answer.getvalue())}
            )
        else:
            flush_stdout()
            code = run(shlex.split(words))
        self.good = self.good and code == expected

    def shell(self, words: str) -> None:
        """Show what is done outside of our command, as one would type it."""
        self._show(words)
        flush_stdout()

    def workflow(self, repository: Path, session: str, *, expected: int) -> None:
        """Record a run of the example workflow; a different exit code makes the demo bad."""
        self.shell(f"python3 {project.WORKFLOW} {shlex.quote(project.REQUEST)} {session} 2>&1 | tail -3")
        code = project.play(repository, session, quiet=self.is_quiet)
        self.good = self.good and code == expected

    def _show(self, words: str) -> None:
        self.say(*([""] if self._follows_a_command else []), self._palette.paint(f"$ {words}", "bold"))
        self._follows_a_command = True


def _tell_story(teller: _Teller, repository: Path, root: Path) -> None:
    teller.say(*_opening(repository, root))
    _record(teller, repository)
    _supervise(teller)
    _ask(teller)
    _forge_and_mend(teller, root)
    teller.say("", *_ending(repository, root))


def _record(teller: _Teller, repository: Path) -> None:
    teller.chapter("Make a repository ready to record. The agents of the example play scripts: no key, no network.")
    teller.command("init")
    project.add_builders(repository)
    teller.chapter("Record a run: a plan, a build that its gate sends back once, a check.")
    teller.workflow(repository, project.GOOD, expected=0)
    teller.command(f"trace phases {project.GOOD}")
    teller.chapter("Record one whose builder claims a file that it never wrote. The gate does not believe it.")
    teller.shell(f"cp {project.UNTRUE_BUILDER} {project.PLAYED}")
    project.take_builder(repository, project.UNTRUE_BUILDER)
    teller.workflow(repository, project.UNTRUE, expected=1)
    teller.chapter("Record one whose agent hangs in a command, and whose workflow is killed. Nobody is left to say so.")
    teller.shell(f"cp {project.HUNG_BUILDER} {project.PLAYED}")
    project.take_builder(repository, project.HUNG_BUILDER)
    teller.shell(f"python3 {project.WORKFLOW} {shlex.quote(project.REQUEST)} {project.HUNG} & sleep 3; kill -9 $!")
    project.play_and_kill(repository, project.HUNG)


def _supervise(teller: _Teller) -> None:
    teller.chapter("Look over every live run of the host. One is lost: an incident is opened, and the run is closed.")
    teller.command("supervisor once --no-sync-index")


def _ask(teller: _Teller) -> None:
    teller.chapter("Each run has published itself. Make the index from the files; it can be deleted at any time.")
    teller.command("index rebuild")
    teller.chapter("What ran on this host, how did it end, and why?")
    teller.command("index query runs")
    teller.command("index query incidents")
    teller.command("index query remediations")
    teller.chapter("How long did it take, and what did it cost? Unknown stays unknown: -, not 0.")
    teller.command("index query metrics")


def _forge_and_mend(teller: _Teller, root: Path) -> None:
    metrics = root / "runs" / project.GOOD / "execution-metrics.json"
    teller.chapter("Can this evidence be trusted? One digit of a sealed file is changed: its run is set aside by name.")
    teller.shell(f"(the first digit of output_tokens in {_short(root, metrics)} is changed)")
    sealed = project.forge(metrics)
    teller.command("index sync")
    teller.chapter("The digit is put back, and so is the run.")
    project.mend(metrics, sealed)
    teller.command("index sync")
    teller.command("index verify --full")


def _short(root: Path, path: Path) -> str:
    return f"$AGENT_WORKFLOW_STATE_ROOT/{path.relative_to(root)}"


def _opening(repository: Path, root: Path) -> list[str]:
    text = "A scratch repository and a state root of its own; nothing of yours is touched. To type along:"
    return [
        *wrapped(text, min(terminal_width(), 100)),
        f"  cd {shlex.quote(str(repository))}",
        *(f"  {line}" for line in _surroundings(root)),
    ]


def _surroundings(root: Path) -> list[str]:
    """Return what a shell needs so that the commands work as they are shown."""
    here = Path(sys.executable).parent
    found = [shutil.which(name) for name in ("agent-workflow", "python3")]
    is_found = all(path is not None and Path(path).parent == here for path in found)
    path = [] if is_found else [f"export PATH={shlex.quote(str(here))}:$PATH"]
    return [*path, f"export AGENT_WORKFLOW_STATE_ROOT={shlex.quote(str(root))}"]


def _ending(repository: Path, root: Path) -> list[str]:
    return [
        "Look around:",
        "  " + "; ".join([f"cd {shlex.quote(str(repository))}", *_surroundings(root)]),
        "  agent-workflow ui                          # the same in the browser",
        f"  agent-workflow trace events {project.UNTRUE}",
        f"  agent-workflow index query events --session {project.HUNG}",
        "  agent-workflow index query runs --json | python3 -m json.tool",
        "Your own repositories: agent-workflow init, in each of them. Your own runs, once there are some:",
        "  unset AGENT_WORKFLOW_STATE_ROOT; agent-workflow index sync",
        "Throw the sample away:",
        f"  rm -rf {shlex.quote(str(root.parent))}",
    ]
