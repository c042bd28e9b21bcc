"""opencode (``opencode run --format json``), 1.18."""

from agent_workflow.tracer.agents._opencode_stream import OpencodeStream
from agent_workflow.tracer.agents._places import opencode_database
from agent_workflow.tracer.agents._protocol import Launch, Send, StreamReader
from agent_workflow.tracer.agents._starting import command, refuse, with_system


class Opencode:
    """Starts opencode once per send; the id that it gave the session continues the conversation.

    The environment variable ``AGENT_WORKFLOW_OPENCODE`` names the command, with options at will, when it is not
    ``opencode``. What may run unasked is settled there or in opencode's own configuration.
    """

    name = "opencode"

    def launch(self, send: Send) -> Launch:
        """Build the command line; the prompt goes through stdin, where nothing can be taken for an option."""
        refuse(send, self.name, tools=True)
        argv = command(self.name)
        argv += ["run", "--format", "json"]
        if send.continues:
            argv += ["--session", send.session_id]
        if send.model:
            argv += ["--model", send.model]
        if send.thinking and send.thinking != "off":
            argv += ["--variant", send.thinking]
        return Launch(argv, stdin=with_system(send).encode("utf-8", "replace"))

    def reader(self, send: Send) -> StreamReader:  # noqa: ARG002 - every line says which conversation it is of
        """Return a reader that knows where the database is."""
        return OpencodeStream(opencode_database())

    def context_window(self, model: str) -> int | None:  # noqa: ARG002 - opencode tells none
        """Return nothing: nobody tells it."""
        return None
