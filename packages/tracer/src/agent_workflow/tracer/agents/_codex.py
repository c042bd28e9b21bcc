"""Codex (``codex exec --json``), 0.171."""

import json

from agent_workflow.tracer.agents._codex_stream import CodexStream
from agent_workflow.tracer.agents._places import codex_folder
from agent_workflow.tracer.agents._protocol import Launch, Send, StreamReader
from agent_workflow.tracer.agents._starting import LONGEST_ARGUMENT, command, refuse, with_system

_EFFORTS = {
    "off": "none",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "xhigh",
}


class Codex:
    """Starts Codex once per send; the id of its thread continues the conversation.

    The environment variable ``AGENT_WORKFLOW_CODEX`` names the command, with options at will, when it is not ``codex``.
    What may run is settled there or in Codex's own ``config.toml``; its sandbox forbids writing unless told otherwise.
    """

    name = "codex"

    def launch(self, send: Send) -> Launch:
        """Build the command line; the prompt goes through stdin, where nothing can be taken for an option."""
        refuse(send, self.name, tools=True)
        argv = command(self.name)
        argv += ["exec", "--json", "--skip-git-repo-check"]
        provider, slash, model = send.model.partition("/")
        if slash and provider != "openai":
            argv += ["-c", f"model_provider={_toml(provider)}"]
        if send.model:
            argv += ["-m", model if slash else send.model]
        if send.thinking:
            argv += ["-c", f"model_reasoning_effort={_toml(_EFFORTS[send.thinking])}"]
        prompt = send.prompt
        instructions = f"developer_instructions={_toml(send.system)}"
        if len(instructions.encode()) > LONGEST_ARGUMENT:
            prompt = with_system(send)
        elif send.system:
            argv += ["-c", instructions]
        argv += ["resume", send.session_id, "-"] if send.continues else ["-"]
        return Launch(argv, stdin=prompt.encode("utf-8", "replace"))

    def reader(self, send: Send) -> StreamReader:
        """Return a reader that knows what was counted before and where the rollouts are."""
        thread = send.session_id if send.continues else ""
        return CodexStream(codex_folder() / "sessions", thread=thread, counted=send.counted)

    def context_window(self, model: str) -> int | None:  # noqa: ARG002 - the rollout tells it
        """Return nothing: the rollout tells it."""
        return None


def _toml(text: str) -> str:
    """Write a text as TOML does, which is JSON's way but for characters that are left as they are."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
