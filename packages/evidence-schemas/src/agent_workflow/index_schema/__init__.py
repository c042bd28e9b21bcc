"""The schema of the evidence index database: its identity, its migrations and the judgement of a header.

This package knows SQL text and version numbers only; it opens no database. ``agent_workflow.index_store`` applies it.
"""

from agent_workflow.index_schema._header import (
    APPLICATION_ID,
    DATABASE_NAME,
    HeaderVerdict,
    judge_header,
)
from agent_workflow.index_schema._migrations import MIGRATIONS, SCHEMA_VERSION, Migration, pending_migrations

__all__ = [
    "APPLICATION_ID",
    "DATABASE_NAME",
    "MIGRATIONS",
    "SCHEMA_VERSION",
    "HeaderVerdict",
    "Migration",
    "judge_header",
    "pending_migrations",
]
