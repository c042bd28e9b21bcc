"""Coding agents: how each is started and how its stream is read."""

from agent_workflow.tracer.agents._protocol import (
    CodingAgent,
    Compacted,
    Denial,
    Launch,
    Seen,
    Send,
    SendOutcome,
    SendVerdict,
    StreamReader,
    ToolReturned,
    Waited,
)
from agent_workflow.tracer.agents._recognise import recognise
from agent_workflow.tracer.agents._roster import coding_agent, program

__all__ = [
    "CodingAgent",
    "Compacted",
    "Denial",
    "Launch",
    "Seen",
    "Send",
    "SendOutcome",
    "SendVerdict",
    "StreamReader",
    "ToolReturned",
    "Waited",
    "coding_agent",
    "program",
    "recognise",
]
