"""Envelopes: what an agent hands over, as typed models that a workflow can extend."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class EnvelopeBase(BaseModel):
    """What every agent hands over; fields beyond the model's are kept.

    Attributes:
        status: the agent's own word on how it went.
        summary: one or two sentences.
        artifacts: files it made or changed for the next one, relative to the repository.
        notes_for_next_agent: what the next one must know.
    """

    # Building validators takes longer than importing this module; only the type that is used pays.
    model_config = ConfigDict(extra="allow", defer_build=True)

    status: str = "success"
    summary: str = ""
    artifacts: list[str] = []
    notes_for_next_agent: str = ""


class GenericOutput(EnvelopeBase):
    """A reply without fields of its own."""


class PlanOutput(EnvelopeBase):
    """A plan was written; its file is among the artifacts."""

    commit_message: str = ""


class BuildOutput(EnvelopeBase):
    """Something was built."""

    changed_files: list[str] = []
    commit_message: str = ""


class ScoutOutput(EnvelopeBase):
    """The code base was explored."""

    relevant_files: list[str] = []
    findings: list[str] = []


class ReviewOutput(EnvelopeBase):
    """Work was reviewed; a blocking issue and the verdict ``pass`` do not go together."""

    verdict: Literal["pass", "fail"]
    blocking_issues: list[str] = []
    suggestions: list[str] = []


class DocumentOutput(EnvelopeBase):
    """Documentation was written or changed."""

    changed_files: list[str] = []
    commit_message: str = ""
