"""What the routes about databases answer with."""

from typing import Literal

from agent_workflow.visualizer._trace_models import Strict, Text


class Project(Strict):
    """A database that is served; ``problem`` is a word, ``error`` a sentence, where it cannot be read."""

    name: str
    root: str
    db: str
    dbExists: bool  # noqa: N815 - its name in older viewers
    lastRun: Text  # noqa: N815 - its name in older viewers
    available: bool
    sessions: int | None
    problem: Text
    error: Text


class Health(Strict):
    """How a database is.

    ``missing`` names tables and columns of the contract that an older or foreign database lacks; ``archiving`` says
    where the flag is kept.
    """

    ok: Literal[True]
    db: str
    journal_mode: str
    sessions: int
    project: str
    generation: str
    schema_version: int
    size_bytes: int
    wal_bytes: int
    last_session_at: Text
    archiving: Literal["database", "beside"]
    missing: list[str]
    version: str
