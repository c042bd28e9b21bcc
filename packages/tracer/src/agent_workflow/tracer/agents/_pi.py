"""pi (``pi -p --mode json``), versions 0.58 to 1.6."""

import json
from typing import Any

from agent_workflow.tracer._json import as_int
from agent_workflow.tracer.agents._pi_stream import PiStream
from agent_workflow.tracer.agents._pi_usage import PARTS
from agent_workflow.tracer.agents._places import pi_folder
from agent_workflow.tracer.agents._protocol import Launch, Send, StreamReader
from agent_workflow.tracer.agents._starting import LONGEST_ARGUMENT, command


class Pi:
    """Starts pi once per send; the same session id continues the conversation.

    The environment variable ``AGENT_WORKFLOW_PI`` names the command when it is not ``pi``.
    """

    name = "pi"

    def launch(self, send: Send) -> Launch:
        """Build the command line."""
        provider, _, model = send.model.partition("/")
        argv = command(self.name)
        argv += ["-p", "--mode", "json", "--session-id", send.session_id, "--session-dir", str(send.session_dir)]
        if model:
            argv += ["--provider", provider, "--model", model]
        if send.thinking:
            argv += ["--thinking", send.thinking]
        if send.system:
            # pi takes the name of an existing file for its content; the text itself could be taken for a name.
            argv += ["--system-prompt", str(send.system_file)]
        if send.tools is not None:
            argv += ["--tools", ",".join(send.tools)] if send.tools else ["--no-tools"]
        for extension in send.harness_engineering:
            argv += ["--extension", extension]
        if len(send.prompt.encode()) > LONGEST_ARGUMENT or send.prompt.startswith("@"):
            argv += [f"@{send.prompt_file}", "Follow the file above."]
        else:
            argv += ["--", send.prompt]
        return Launch(argv)

    def reader(self, send: Send) -> StreamReader:
        """Return a reader that knows whether zero is a price of this model."""
        entry = _registered(send.model)
        cost = entry.get("cost") if entry else None
        return PiStream(knows_prices=isinstance(cost, dict) and all(key in cost for key in PARTS))

    def context_window(self, model: str) -> int | None:
        """Return the window that pi's own model list names."""
        entry = _registered(model)
        window = as_int(entry.get("contextWindow")) if entry else None
        return window if window and window > 0 else None


def _registered(model: str) -> dict[str, Any] | None:
    """Find a ``provider/id`` in pi's ``models.json``; a missing or broken file is no entry."""
    provider, _, name = model.partition("/")
    try:
        registry = json.loads((pi_folder() / "models.json").read_text(encoding="utf-8"))
        entries = registry["providers"][provider]["models"]
        return next((entry for entry in entries if entry.get("id") == name), None)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
