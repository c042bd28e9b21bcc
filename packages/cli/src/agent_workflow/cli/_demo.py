"""``agent-workflow demo``: the whole chain on invented runs, in a scratch folder, without a key or a network."""

import contextlib
import io
import json
import os
import shlex
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from agent_workflow.cli._call import AsJson, Call
from agent_workflow.cli._demo_runs import ARCHIVED, DONE, FAILED, RUNNING, SAMPLES, Files, next_sample, sample_runs
from agent_workflow.cli._failure import EXIT_NOT_GOOD, EXIT_WRONG_CALL, CommandFailed, Failure
from agent_workflow.cli._output import Palette, flush_stdout, say, show_document, terminal_width, wrapped


def demo(
    context: typer.Context,
    folder: Annotated[
        str | None, typer.Option("--dir", metavar="DIR", help="Write the sample there; a new folder or an empty one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the whole chain on four invented runs in a scratch folder; nothing of yours is touched."""
    call = Call.of(context, as_json, None)
    if call.named_root is not None:
        message = "demo makes a state root of its own"
        raise CommandFailed(
            Failure("usage_error", message, hint="name its folder with --dir", exit_code=EXIT_WRONG_CALL)
        )
    root = _scratch_folder(folder) / "state"
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    _write_runs(root, sample_runs(begin))
    os.environ["AGENT_WORKFLOW_STATE_ROOT"] = str(root)  # so that the commands can be shown as they are typed
    teller = _Teller(as_json=call.as_json)
    _tell_story(teller, root, begin)
    if call.as_json:
        document = {"schema": "agent-workflow/demo/v1", "state_root": str(root), "good": teller.good}
        show_document({**document, "steps": teller.steps})
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


def _write_runs(root: Path, runs: Mapping[str, Files]) -> None:
    root.mkdir(mode=0o700)
    for run, files in runs.items():
        for path, content in files.items():
            target = root / run / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(content)
            is_receipt = "receipt" in path
            target.chmod(0o400 if is_receipt else 0o600)  # a seal is read-only
    for directory in (root / "runs", root / "archive"):
        directory.chmod(0o700)


class _Teller:
    """Runs the commands of the story and tells it, or gathers their answers for one document."""

    def __init__(self, *, as_json: bool) -> None:
        self.good = True
        self.steps: list[dict[str, object]] = []
        self._as_json = as_json
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
        if not self._as_json:
            say(*lines)

    def command(self, words: str, *, expected: int = 0) -> None:
        """Run a command of ours as it is shown; a different exit code makes the demo bad."""
        from agent_workflow.cli._app import run

        self._show(f"agent-workflow {words}")
        if self._as_json:
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
        """Show what is done to a file, as one would type it."""
        self._show(words)

    def _show(self, words: str) -> None:
        self.say(*([""] if self._follows_a_command else []), self._palette.paint(f"$ {words}", "bold"))
        self._follows_a_command = True


def _tell_story(teller: _Teller, root: Path, begin: datetime) -> None:
    journal = root / "runs" / RUNNING / "run-health-samples.jsonl"
    teller.say(*_opening(root))
    teller.chapter("Make the index from the files. It can be deleted at any time; this makes it again.")
    teller.command("index rebuild")
    teller.chapter("What ran on this host, and what needs me?")
    teller.command("index query runs")
    teller.command("index query incidents --state open")
    teller.command("index query permissions --state pending")
    teller.chapter("What did it cost? Unknown stays unknown: -, not 0.")
    teller.command("index query performance")
    teller.chapter(f"{RUNNING} goes on. Of its journal of {SAMPLES:,} samples, a sync parses the new one.")
    with journal.open("ab") as file:
        file.write(next_sample(begin))
    teller.shell(f'echo \'{{"schema": "agent-workflow/run-health-sample/v1", …}}\' >> {_short(root, journal)}')
    teller.command("index sync")
    teller.chapter("Can this evidence be trusted? Every file is hashed again; then one sealed run is judged.")
    teller.command("index verify --full")
    teller.command(f"index verify --review {DONE}")
    _damage_and_mend(teller, root)
    teller.say("", *_ending(root))


def _damage_and_mend(teller: _Teller, root: Path) -> None:
    events = root / "runs" / FAILED / "events.jsonl"
    whole = events.read_bytes()
    first, _, rest = whole.partition(b"\n")
    teller.chapter("A file is damaged: the fault is named by file and line, and the other runs stay.")
    teller.shell(f"sed -i '2s/.*/oops/' {_short(root, events)}")
    events.write_bytes(first + b"\noops\n" + rest.partition(b"\n")[2])
    teller.command("index sync")
    teller.command("index query runs")
    teller.chapter("The file is mended, and the next sync puts the run back.")
    events.write_bytes(whole)
    teller.command("index sync")


def _short(root: Path, path: Path) -> str:
    return f"$AGENT_WORKFLOW_STATE_ROOT/{path.relative_to(root)}"


def _opening(root: Path) -> list[str]:
    text = (
        f"A state root with four invented runs: {DONE} (completed, sealed and reviewed), {RUNNING} (still running), "
        f"{FAILED} (failed) and {ARCHIVED} (archived). Nothing of yours is touched. To type along:"
    )
    return [*wrapped(text, min(terminal_width(), 100)), f"  export AGENT_WORKFLOW_STATE_ROOT={shlex.quote(str(root))}"]


def _ending(root: Path) -> list[str]:
    return [
        "Look around:",
        f"  export AGENT_WORKFLOW_STATE_ROOT={shlex.quote(str(root))}",
        "  agent-workflow index status",
        f"  agent-workflow index query events --session {RUNNING} --limit 5",
        "  agent-workflow index query runs --json | python3 -m json.tool",
        f"  ls {shlex.quote(str(root / 'runs' / DONE))}",
        "Your own runs, once there are some:",
        "  unset AGENT_WORKFLOW_STATE_ROOT; agent-workflow index sync",
        "Throw the sample away:",
        f"  rm -r {shlex.quote(str(root.parent))}",
    ]
