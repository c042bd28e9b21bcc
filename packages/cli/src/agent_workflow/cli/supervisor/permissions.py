"""Permissions that an agent waits for or was refused, read out of what it prints; nothing here reads a file or answers.

What is recognised, with the rule that does it:

================================  ======================================================================================
``claude-approval-prompt/v1``     Claude Code's dialog "Do you want to …?" at the end of a terminal
``claude-choice-prompt/v1``       its other dialogs with numbered answers: trust in a folder, questions of the model
``claude-refusal-notice/v1``      its notice of a change that was not approved, in a terminal
``claude-tool-request/v1``        ``control_request`` with ``can_use_tool`` in its stream
``claude-permission-denied/v1``   refused tool results, ``permission_denied``, ``permission_denials``
``codex-approval-prompt/v1``      Codex's dialog "Would you like to …?" at the end of a terminal
``codex-choice-prompt/v1``        its other dialogs that are confirmed with enter
``codex-refusal-notice/v1``       its notice of a request that was not approved, in a terminal
``codex-approval-request/v1``     ``…/requestApproval`` of the app server, ``…_approval_request`` of older protocols
``codex-declined/v1``             items with the status ``declined``, rejected outputs in rollouts
``codex-rejection-log/v1``        rejections that ``codex exec`` logs to its standard error
``pi-dialog-prompt/v1``           a dialog of a pi extension at the end of a terminal
``pi-extension-dialog/v1``        ``extension_ui_request`` for a dialog in pi's RPC mode
``pi-tool-blocked/v1``            a tool call that an extension blocked before it ran
``opencode-permission-denied/v1`` a tool call that opencode rejected
``opencode-auto-rejection/v1``    its line about that in the standard error
``generic-confirmation/v1``       any agent: the last line ends with ``[y/N]``, ``(yes/no)`` and the like
``generic-approval-question/v1``  any agent: the last line ends with a question: Allow, Approve, Permit or Grant …?
``generic-secret-prompt/v1``      any agent: the last line ends with "password:" or "passphrase:"
================================  ======================================================================================

A request that a stream settles is told as ``cleared``. A prompt of a terminal or a standard error is cleared when it is
not observed any more: nothing is left there by which it could be named.
"""

from typing import Literal

from agent_workflow.cli.supervisor import _permission_prompts as prompts
from agent_workflow.cli.supervisor._permission_facts import Observation, State
from agent_workflow.cli.supervisor._permission_streams import stream

__all__ = ["Channel", "Observation", "State", "observe"]

Channel = Literal["terminal", "stderr", "stream"]


def observe(channel: Channel, agent: str | None, data: bytes) -> list[Observation]:
    """Find permissions that are asked for, refused and settled.

    Args:
        channel: where the data comes from: a terminal (its bytes or the text of a captured pane), the standard error,
            or the JSON stream of the agent.
        agent: ``pi``, ``claude``, ``codex`` or ``opencode``. Of any other only the generic prompts are recognised.
        data: all of it or its end, from the beginning of a line on. A last line of a stream without newline waits.

    Returns:
        In the order of the data. Damaged records are passed by; nothing is raised.
    """
    if channel == "stream":
        return stream(agent, data)
    if channel == "stderr":
        return prompts.stderr(agent, data)
    return prompts.terminal(agent, data)
