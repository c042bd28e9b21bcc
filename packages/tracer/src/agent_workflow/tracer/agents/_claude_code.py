"""Claude Code (``claude -p --output-format stream-json``), 2.1."""

from agent_workflow.tracer.agents._claude_stream import ClaudeStream
from agent_workflow.tracer.agents._places import claude_folder
from agent_workflow.tracer.agents._protocol import Launch, Send, StreamReader
from agent_workflow.tracer.agents._starting import LONGEST_ARGUMENT, command, no_command, refuse

_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}


class ClaudeCode:
    """Starts Claude Code once per send; the id that it gave the conversation continues it.

    The environment variable ``AGENT_WORKFLOW_CLAUDE_CODE`` names the command, with options at will, when it is not
    ``claude``. What may run unasked is settled there or in Claude Code's own settings.
    """

    name = "claude_code"

    def launch(self, send: Send) -> Launch:
        """Build the command line; the prompt goes through stdin, where nothing can be taken for an option."""
        refuse(send, self.name, tools=False)
        argv = command(self.name)
        argv += ["-p", "--output-format", "stream-json", "--verbose"]
        if send.continues:
            argv += ["--resume", send.session_id]
        if send.model:
            argv += ["--model", send.model.removeprefix("anthropic/")]
        if send.thinking in _EFFORTS:
            argv += ["--effort", _EFFORTS[send.thinking]]
        if send.tools is not None:
            argv += ["--tools", ",".join(send.tools)]
        if len(send.system.encode()) > LONGEST_ARGUMENT:
            argv += ["--append-system-prompt-file", str(send.system_file)]
        elif send.system:
            argv += [f"--append-system-prompt={send.system}"]
        return Launch(argv, stdin=no_command(send.prompt).encode("utf-8", "replace"))

    def reader(self, send: Send) -> StreamReader:
        """Return a reader that knows where the transcripts are."""
        return ClaudeStream(claude_folder() / "projects", session_id=send.session_id if send.continues else "")

    def context_window(self, model: str) -> int | None:  # noqa: ARG002 - the result tells it, and it changes on resume
        """Return nothing: the stream tells it."""
        return None
