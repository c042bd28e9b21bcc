"""What starting a coding agent takes, whichever it is."""

import os
import shlex
from typing import Final

from agent_workflow.tracer._errors import ConfigError
from agent_workflow.tracer.agents._protocol import Send

LONGEST_ARGUMENT: Final = 100_000
"""In bytes; Linux refuses a single argument above 128 KiB."""


_PROGRAMS: Final = {"claude_code": "claude"}
"""What an agent's program is called where that is not the agent's own name."""


def command(agent: str) -> list[str]:
    """Return the words of the command: those of ``AGENT_WORKFLOW_<AGENT>`` of the environment, else the usual program.

    The variable may carry options, too. Authority is given there or in the agent's own settings, never by us.

    Args:
        agent: name of the coding agent, for example ``claude_code``.

    Raises:
        ConfigError: the variable has a quotation that never ends.
    """
    variable = f"AGENT_WORKFLOW_{agent.upper()}"
    try:
        words = shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise ConfigError(f"{variable} is no command: {error}", hint="quote it as in a shell") from error
    return words or [_PROGRAMS.get(agent, agent)]


def refuse(send: Send, agent: str, *, tools: bool) -> None:
    """Refuse what the agent cannot be held to, since leaving it out would look like keeping to it.

    Args:
        send: to be started.
        agent: its kind.
        tools: whether the choice of tools is among that.

    Raises:
        ConfigError: the configuration asks for it.
    """
    if send.harness_engineering:
        raise ConfigError(f"{agent} takes no harness_engineering", hint="it names extensions of pi")
    if tools and send.tools is not None:
        raise ConfigError(f"{agent} cannot be limited to tools", hint=f"limit them in {agent}'s own settings")


def with_system(send: Send) -> str:
    """Put the system text before the first prompt of a conversation, for agents that take none of their own."""
    return send.prompt if send.continues or not send.system else f"{send.system}\n\n{send.prompt}"


def no_command(prompt: str) -> str:
    """Put a line break before a slash, for agents that take such a prompt for a command of their own."""
    return f"\n{prompt}" if prompt.startswith("/") else prompt
