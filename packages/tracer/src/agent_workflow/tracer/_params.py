"""What a workflow hands to a run: the parameters of a phase and of an agent call."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from agent_workflow.tracer._errors import WorkflowError

if TYPE_CHECKING:
    from agent_workflow.tracer._envelopes import EnvelopeBase
    from agent_workflow.tracer._gates import Gate

PhaseKind = Literal["engineer", "agent", "code"]
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseParams:
    """One phase of a workflow.

    Attributes:
        name: short, part of the phase's id.
        kind: who does it: an engineer, an agent, or code.
        owner: lane it is shown in; for an agent phase the agent's name in the configuration.
        description: a sentence for a reader who does not know the workflow.
        retries: how often an agent may be asked again.
    """

    name: str
    kind: PhaseKind
    owner: str
    description: str
    retries: int = 0

    def __post_init__(self) -> None:
        """Refuse what would make a trace that nobody understands.

        Raises:
            WorkflowError: a value is missing, unknown, or the description says nothing.
        """
        if not isinstance(self.name, str) or not _NAME.match(self.name):
            raise WorkflowError(f"a phase cannot be named {self.name!r}", hint="letters, digits, dot, dash, underscore")
        if self.kind not in get_args(PhaseKind):
            raise WorkflowError(f"phase {self.name}: kind {self.kind!r} is none of {', '.join(get_args(PhaseKind))}")
        if not isinstance(self.owner, str) or not self.owner.strip():
            raise WorkflowError(f"phase {self.name} has no owner")
        if not isinstance(self.retries, int) or isinstance(self.retries, bool) or self.retries < 0:
            raise WorkflowError(f"phase {self.name}: retries must be a whole number from 0 on")
        if not isinstance(self.description, str) or not _says_something(self.description, self.name):
            raise WorkflowError(f"phase {self.name}: the description is empty or repeats the name")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """One question to an agent.

    Attributes:
        output_type: the envelope that the reply must be.
        prompt: the task, put into the agent's user prompt.
        previous: envelope of the agent before, handed on in the prompt.
        gates: looked at in order after each reply that parses.
        agent: name in the configuration; the phase's owner when omitted.
        variables: more values for placeholders of the prompt files.
        timeout_seconds: the agent is ended when it takes longer, per send; no limit when omitted.
    """

    output_type: "type[EnvelopeBase] | None" = None
    prompt: str = ""
    previous: "EnvelopeBase | None" = None
    gates: "Sequence[Gate]" = ()
    agent: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    timeout_seconds: float | None = None


def _says_something(description: str, name: str) -> bool:
    said = _letters(description)
    return bool(said) and said != _letters(name)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
