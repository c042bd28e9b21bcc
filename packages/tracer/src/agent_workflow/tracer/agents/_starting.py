"""What starting a coding agent takes, whichever it is."""

import os
import shlex
from typing import Final

from agent_workflow.tracer._errors import ConfigError
from agent_workflow.tracer.agents._protocol import Send

LONGEST_ARGUMENT: Final = 100_000
"""In bytes; Linux refuses a single argument above 128 KiB."""


def command(variable: str, default: str) -> list[str]:
    """Return the words of the command: those of an environment variable, else the agent's usual name.

    The variable may carry options, too. Authority is given there or in the agent's own settings, never by us.
    """
    return shlex.split(os.environ.get(variable, "")) or [default]


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
