"""The coding agents that a configuration may name."""

import sys
from collections.abc import Callable
from typing import Final

from agent_workflow.tracer._errors import ConfigError
from agent_workflow.tracer.agents._claude_code import ClaudeCode
from agent_workflow.tracer.agents._codex import Codex
from agent_workflow.tracer.agents._gemini import Gemini
from agent_workflow.tracer.agents._opencode import Opencode
from agent_workflow.tracer.agents._pi import Pi
from agent_workflow.tracer.agents._protocol import CodingAgent
from agent_workflow.tracer.agents._scripted import Scripted
from agent_workflow.tracer.agents._starting import command

_AGENTS: Final[dict[str, Callable[[], CodingAgent]]] = {
    "claude_code": ClaudeCode,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": Opencode,
    "pi": Pi,
    "scripted": Scripted,
}


def coding_agent(name: str) -> CodingAgent:
    """Return the adapter for a coding agent.

    Raises:
        ConfigError: nobody knows an agent of this name.
    """
    if name not in _AGENTS:
        raise ConfigError(f"there is no coding agent {name!r}", hint=f"known: {', '.join(sorted(_AGENTS))}")
    return _AGENTS[name]()


def program(name: str) -> str:
    """Return the program that a coding agent is started as: a name to look for on PATH, or a path.

    Raises:
        ConfigError: nobody knows an agent of this name, or the variable that names its command is no command.
    """
    adapter = coding_agent(name)
    return sys.executable if isinstance(adapter, Scripted) else command(adapter.name)[0]
