"""gemini-cli (``gemini --output-format stream-json``), 0.61."""

from agent_workflow.tracer.agents._gemini_stream import GeminiStream
from agent_workflow.tracer.agents._places import gemini_folder
from agent_workflow.tracer.agents._protocol import Launch, Send, StreamReader
from agent_workflow.tracer.agents._starting import LONGEST_ARGUMENT, command, no_command, refuse, with_system


class Gemini:
    """Starts gemini-cli once per send; the id of its session continues the conversation.

    The environment variable ``AGENT_WORKFLOW_GEMINI`` names the command, with options at will, when it is not
    ``gemini``. What may run unasked is settled there or in gemini-cli's own settings; by default it only reads.
    """

    name = "gemini"

    def launch(self, send: Send) -> Launch:
        """Build the command line."""
        refuse(send, self.name, tools=True)
        argv = command(self.name)
        argv += ["--output-format", "stream-json"]
        if send.continues:
            argv += ["--resume", send.session_id]
        if send.model:
            argv += ["-m", send.model.removeprefix("google/")]
        prompt = no_command(with_system(send))
        # gemini-cli waits half a second for stdin, which on a busy machine may be too short: only what does not fit
        # into an argument goes there.
        data = prompt.encode("utf-8", "replace")
        if len(data) > LONGEST_ARGUMENT:
            return Launch(argv, stdin=data)
        return Launch([*argv, f"--prompt={prompt}"])

    def reader(self, send: Send) -> StreamReader:
        """Return a reader that knows where the session files are, and where errors are told."""
        return GeminiStream(gemini_folder() / "tmp", stderr=send.stderr_file)

    def context_window(self, model: str) -> int | None:  # noqa: ARG002 - gemini-cli tells none
        """Return nothing: nobody tells it."""
        return None
