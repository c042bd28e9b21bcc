"""Retention of trace sessions: which may be deleted, and deleting one from its directory and its database at once."""

from agent_workflow.tracer.retention._deleting import Announce, SessionRemoval, delete_session
from agent_workflow.tracer.retention._finishing import finish_session
from agent_workflow.tracer.retention._planning import KeptSession, SessionFacts, TracePlan, survey_sessions

__all__ = [
    "Announce",
    "KeptSession",
    "SessionFacts",
    "SessionRemoval",
    "TracePlan",
    "delete_session",
    "finish_session",
    "survey_sessions",
]
