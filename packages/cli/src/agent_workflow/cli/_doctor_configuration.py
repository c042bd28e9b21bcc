"""The configuration of the repository's workflows: what is wrong in it, and what it names that is not there."""

import os
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_workflow.cli._cells import counted
from agent_workflow.cli._check import Check

if TYPE_CHECKING:
    from agent_workflow.tracer import AgentConfig, Config

_NAME = "configuration"


def check_configuration(start: Path, search_path: str) -> Iterable[Check]:
    """Judge the configuration that a workflow started in a folder would use; no program that it names is started.

    Args:
        start: the folder to look from, up to the root of its repository.
        search_path: value of ``PATH``.
    """
    from agent_workflow.tracer import load_config, locate_config

    path = locate_config(start)
    if path is None:
        yield Check(_NAME, "ok", "none here; agent-workflow init writes one for workflows of several agents")
        return
    config = load_config(path)
    checks = [
        *(Check(_NAME, "bad", f"{path}: {problem}", f"correct {_shown(path)}") for problem in config.problems),
        *(Check(_NAME, "warn", f"{path}: {notice}", "correct or remove it") for notice in config.notices),
        *(check for agent in config.agents.values() for check in _check_agent(config, agent, search_path)),
        *_check_tests(config, search_path),
    ]
    yield from checks or [Check(_NAME, "ok", f"{path}: {counted(len(config.agents), 'agent')}")]


def _check_agent(config: "Config", agent: "AgentConfig", search_path: str) -> Iterable[Check]:
    from agent_workflow.tracer import ConfigError
    from agent_workflow.tracer.agents import program

    where = f"agents[{agent.name}]"
    places = (f"{where}.coding_agent", "defaults.coding_agent", where)
    try:
        name = program(agent.coding_agent)
    except ConfigError as error:
        yield _finding(config, places, f"{where}: {error}", error.hint)
    else:
        if not _is_there(name, config.root, search_path):
            detail = f"{where} is done by {agent.coding_agent}, whose program {name} is not on PATH"
            yield _finding(config, places, detail, "install it, or put its folder on PATH")
    for kind, prompt in (("system", agent.system), ("user", agent.user)):
        if prompt is not None and (fault := _fault_of_text(prompt)):
            place = f"{where}.prompt_engineering.{kind}"
            yield _finding(config, (place, where), f"{place}: {prompt} {fault[0]}", fault[1])


def _check_tests(config: "Config", search_path: str) -> Iterable[Check]:
    if config.tests and not _is_there(config.tests[0], config.root, search_path):
        detail = f"tests: there is no program {config.tests[0]}"
        yield _finding(config, ("tests",), detail, "install it, or put its folder on PATH")


def _is_there(program: str, root: Path, search_path: str) -> bool:
    """Look for a program as one that is started in the repository's root would be found."""
    return shutil.which(root / program if "/" in program else program, path=search_path) is not None


def _fault_of_text(path: Path) -> tuple[str, str] | None:
    """Tell why a prompt cannot be read, and what mends it; one that is no file is told by the configuration."""
    if not os.path.isfile(path):  # noqa: PTH113 - the other raises for a name that is too long
        return None
    try:
        path.read_text(encoding="utf-8")
    except OSError as error:
        return f"cannot be read: {error.strerror}", f"chmod u+r {_shown(path)}"
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return f"is not UTF-8 in line {line}", "save it as UTF-8"
    return None


def _finding(config: "Config", places: tuple[str, ...], sentence: str, fix: str) -> Check:
    """Return a finding with the line of the first of its places that the file has."""
    line = next((config.lines[place] for place in places if place in config.lines), None)
    where = f"{config.path}: " if line is None else f"{config.path}: line {line}: "
    return Check(_NAME, "bad", where + sentence, fix)


def _shown(path: Path) -> str:
    return shlex.quote(str(path))
