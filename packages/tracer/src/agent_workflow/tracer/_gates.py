"""Gates: code that looks at what an agent handed over, and says what it looked at."""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, overload

from agent_workflow.tracer._ending import end_processes, tree_below
from agent_workflow.tracer._json import clip
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._worktree import Change
from agent_workflow.tracer.evidence._repository import git_environment

if TYPE_CHECKING:
    from agent_workflow.tracer._envelopes import EnvelopeBase

Verdict = Literal["passed", "failed", "inspected_nothing"]
_CACHES: Final = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache")
_NOTE_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a gate looked at: what, whether it was good, and what was seen."""

    item: str
    ok: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class GateReport:
    """What a gate found.

    Attributes:
        gate: its name.
        checks: everything it looked at; none is a verdict of its own.
    """

    gate: str
    checks: Sequence[Check] = ()

    @property
    def violations(self) -> list[str]:
        """The failed checks, as ``item: note``."""
        return [f"{check.item}: {check.note}" for check in self.checks if not check.ok]

    @property
    def verdict(self) -> Verdict:
        """``failed`` when a check failed, ``inspected_nothing`` when there was none."""
        if self.violations:
            return "failed"
        return "passed" if self.checks else "inspected_nothing"


@dataclass(frozen=True, slots=True)
class GateContext:
    """What a gate may look at.

    Attributes:
        envelope: the reply that parsed.
        root: the repository; paths of the envelope are relative to it.
        changes: what the agent changed in this call, relative paths.
        handoff: folder in which agents leave files for each other.
        tests: command of the configuration for ``tests_pass``, if any.
    """

    envelope: "EnvelopeBase"
    root: Path
    changes: Mapping[str, Change]
    handoff: Path
    tests: tuple[str, ...] | None = None

    def claimed(self) -> list[str]:
        """Return the files that the envelope names, each once."""
        named = [*self.envelope.artifacts, *getattr(self.envelope, "changed_files", [])]
        return list(dict.fromkeys(str(item) for item in named))

    def relative(self, name: str) -> str:
        """Write a path of the envelope relative to the repository, where it lies inside."""
        path = os.path.normpath(self.root / name)
        return os.path.relpath(path, self.root) if Path(path).is_relative_to(self.root) else path


Gate = Callable[[GateContext], GateReport]


def artifacts_exist(context: GateContext) -> GateReport:
    """Every artifact that the envelope declares is there."""
    return GateReport("artifacts_exist", [_exists(context, name) for name in context.envelope.artifacts])


def files_non_empty(context: GateContext) -> GateReport:
    """No declared artifact that is there is empty."""
    checks = []
    for name in context.envelope.artifacts:
        path = context.root / name
        if path.is_file():
            size = path.stat().st_size
            checks.append(Check(name, size > 0, f"{size}B" if size else "is empty"))
    return GateReport("files_non_empty", checks)


def json_parses(context: GateContext) -> GateReport:
    """Every declared JSON or JSON-lines artifact can be parsed."""
    checks = []
    for name in context.envelope.artifacts:
        if name.endswith((".json", ".jsonl")):
            checks.append(_parses(context.root / name, name))
    return GateReport("json_parses", checks)


def diff_matches_claims(context: GateContext) -> GateReport:
    """What the envelope names was changed (or deleted) in this call, and nothing else was, caches apart."""
    checks = []
    claimed = {context.relative(name) for name in context.claimed()}
    for name in sorted(claimed):
        change = context.changes.get(name)
        checks.append(Check(name, change is not None, change or "is claimed but was not changed"))
    unclaimed = [path for path in context.changes if path not in claimed and not _is_cache(path)]
    ignored = _ignored_by_git(context.root, unclaimed)
    checks.extend(
        Check(path, False, f"was {context.changes[path]} but is not claimed")
        for path in unclaimed
        if path not in ignored
    )
    return GateReport("diff_matches_claims", checks)


def verdict_consistent(context: GateContext) -> GateReport:
    """A review that passes names no blocking issue, and one that fails names at least one."""
    verdict = getattr(context.envelope, "verdict", None)
    issues = list(getattr(context.envelope, "blocking_issues", []))
    if verdict is None:
        return GateReport("verdict_consistent")
    good = bool(issues) == (verdict == "fail")
    return GateReport("verdict_consistent", [Check(f"verdict {verdict}", good, f"{len(issues)} blocking issues")])


@overload
def tests_pass(subject: GateContext) -> GateReport: ...
@overload
def tests_pass(subject: str | Sequence[str], *, timeout_seconds: float = ...) -> Gate: ...  # noqa: PT028 - no test
def tests_pass(subject: GateContext | str | Sequence[str], *, timeout_seconds: float = 1800.0) -> GateReport | Gate:  # noqa: PT028
    """The test command ends with 0.

    Args:
        subject: a command, to make a gate that runs it; as a gate itself it runs ``tests`` of the configuration.
        timeout_seconds: the command is ended, and the gate fails, when it takes longer.
    """
    if isinstance(subject, GateContext):
        if not subject.tests:
            return GateReport("tests_pass", [Check("tests", False, "no test command is configured")])
        return _run_tests(subject.tests, subject.root, timeout_seconds)
    command = tuple(shlex.split(subject)) if isinstance(subject, str) else tuple(subject)

    def gate(context: GateContext) -> GateReport:
        return _run_tests(command, context.root, timeout_seconds)

    gate.__name__ = "tests_pass"
    return gate


vars(tests_pass)["__test__"] = False  # its name makes pytest take it for a test wherever it is imported


def _run_tests(command: Sequence[str], root: Path, timeout_seconds: float) -> GateReport:
    item = shlex.join(command)
    # Into a file, not a pipe: it may be of any length, and what the tests leave running may hold it open.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 - the workflow's own command
                command, cwd=root, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        except OSError as error:
            return GateReport("tests_pass", [Check(item, False, f"cannot be run: {error.strerror}")])
        try:
            code = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return GateReport("tests_pass", [Check(item, False, f"took longer than {timeout_seconds:g} s")])
        finally:
            if process.returncode is None:  # also when a signal ends the workflow
                _end_tests(process)
        size = os.fstat(output.fileno()).st_size
        end = os.pread(output.fileno(), 4 * _NOTE_CHARACTERS, max(0, size - 4 * _NOTE_CHARACTERS))
    words = end.decode("utf-8", "replace").strip()
    note = f"exit {code}\n{words[-_NOTE_CHARACTERS:]}".strip()
    return GateReport("tests_pass", [Check(item, code == 0, note)])


def _end_tests(process: subprocess.Popen[bytes]) -> None:
    """Kill a test command and everything below it."""
    root = find(process.pid)
    below = tree_below({process.pid}, None)
    end_processes([*below, *([root] if root else [])], grace_seconds=0, force=True)
    process.wait()


def _exists(context: GateContext, name: str) -> Check:
    path = context.root / name
    if path.is_file():
        return Check(name, True, f"exists, {path.stat().st_size}B")
    if path.is_dir():
        return Check(name, True, "exists, folder")
    return Check(name, False, "declared artifact does not exist")


def _parses(path: Path, name: str) -> Check:
    try:
        data = path.read_bytes()
        parts = [line for line in data.split(b"\n") if line.strip()] if name.endswith(".jsonl") else [data]
        for part in parts:
            json.loads(part.decode("utf-8"))
    except OSError as error:
        return Check(name, False, f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        return Check(name, False, clip(f"is not valid JSON: {error}", 300))
    return Check(name, True, f"parses, {len(data)}B")


def _is_cache(path: str) -> bool:
    return any(part in _CACHES for part in path.split("/"))


def _ignored_by_git(root: Path, paths: Sequence[str]) -> set[str]:
    if not paths:
        return set()
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-z", "--stdin"],  # noqa: S607 - whatever git the repository is used with
            cwd=root,
            env=git_environment(),
            input="\0".join(paths).encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return set(done.stdout.decode("utf-8", "surrogateescape").split("\0"))
