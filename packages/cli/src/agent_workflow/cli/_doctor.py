"""``agent-workflow doctor``: is everything in place, and if not, what mends it."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from agent_workflow.cli._call import AsJson, Call, StateRoot
from agent_workflow.cli._check import Check, Verdict
from agent_workflow.cli._doctor_configuration import check_configuration
from agent_workflow.cli._doctor_state_root import check_state_root
from agent_workflow.cli._doctor_surroundings import check_agents, check_trace_databases
from agent_workflow.cli._doctor_versions import check_versions
from agent_workflow.cli._failure import EXIT_NOT_GOOD
from agent_workflow.cli._output import Palette, say, show_document, terminal_width, wrapped
from agent_workflow.cli._table import state_colour
from agent_workflow.cli._terminal_text import printable

_NAME_WIDTH = 18
_INDENT = " " * (_NAME_WIDTH + 6)


def doctor(context: typer.Context, as_json: AsJson = False, state_root: StateRoot = None) -> None:
    """Look at versions, paths, permissions, agents, the configuration and databases; each fault comes with its fix.

    Nothing is changed and no agent is started. Exits 1 when anything is bad.
    """
    call = Call.of(context, as_json, state_root)
    search_path = os.environ.get("PATH", os.defpath)
    checks = [
        *check_versions(),
        *check_state_root(call.state_root, call.named_root),
        *check_agents(search_path),
        *check_configuration(Path.cwd(), search_path),
        *check_trace_databases(Path.cwd(), os.environ),
    ]
    worst = worst_of(checks)
    if call.as_json:
        fields = [dict(check._asdict()) for check in checks]
        show_document({"schema": "agent-workflow/doctor/v1", "verdict": worst, "checks": fields})
    else:
        say(*_lines(checks, worst))
    if worst == "bad":
        raise typer.Exit(EXIT_NOT_GOOD)


def worst_of(checks: Sequence[Check]) -> Verdict:
    """Return the verdict over all."""
    found = {check.verdict for check in checks}
    return "bad" if "bad" in found else "warn" if "warn" in found else "ok"


def _lines(checks: Sequence[Check], worst: Verdict) -> Iterable[str]:
    palette = Palette()
    width = max(min(terminal_width(), 120), len(_INDENT) + 20)
    for check in checks:
        text = list(wrapped(printable(check.detail), width, _INDENT)) or [_INDENT]
        verdict = palette.paint(check.verdict.ljust(4), state_colour(check.verdict))
        yield f"{verdict}  {check.name.ljust(_NAME_WIDTH)}{text[0][len(_INDENT) :]}"
        yield from text[1:]
        if check.fix is not None:
            yield from wrapped(f"-> {printable(check.fix)}", width, _INDENT)
    count = {verdict: sum(check.verdict == verdict for check in checks) for verdict in ("bad", "warn")}
    verdicts = {"ok": "all is well", "warn": f"{count['warn']} to know about", "bad": f"{count['bad']} to mend"}
    yield palette.paint(verdicts[worst], state_colour(worst))
