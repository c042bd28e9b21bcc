"""The scripted agent: a small program that speaks pi's stream without a model, for the example workflow."""

import os
import sys

from agent_workflow.tracer.agents._pi_stream import PiStream
from agent_workflow.tracer.agents._protocol import Launch, Send, StreamReader


class Scripted:
    """Plays the turns of a script file, which the model's id names: ``scripted/<file below the repository>``."""

    name = "scripted"

    def launch(self, send: Send) -> Launch:
        """Start the embedded program with this Python."""
        script = send.model.partition("/")[2]
        argv = [sys.executable, "-m", "agent_workflow.tracer.scripted_agent"]
        argv += ["--session-id", send.session_id, "--session-dir", str(send.session_dir), "--", script, send.prompt]
        return Launch(argv, {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)})

    def reader(self, send: Send) -> StreamReader:  # noqa: ARG002 - every script states its prices
        """Read it as pi's stream."""
        return PiStream(knows_prices=True)

    def context_window(self, model: str) -> int | None:  # noqa: ARG002 - one window for all scripts
        """Return the window that its scripts pretend to have."""
        return 128_000
