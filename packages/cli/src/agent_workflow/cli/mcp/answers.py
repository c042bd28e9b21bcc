"""Answers as the protocol carries them; what is at fault is an answer too, with a code and the next step."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict

from agent_workflow import index_store
from agent_workflow.cli._failure import CommandFailed, Failure, failure_of_store, failure_of_system
from agent_workflow.cli.mcp.questions import Document


class Answer(BaseModel):
    """What every answer has.

    Attributes:
        freshness: how the index compares with the evidence now.
        next_step: what to do about an index that is not current.
    """

    model_config = ConfigDict(extra="allow")

    freshness: Literal["missing", "current", "stale", "incomplete"]
    next_step: str | None


class PageOf(BaseModel):
    """Where the answer goes on: ``complete`` says that nothing is behind its last page."""

    model_config = ConfigDict(extra="allow")

    next_cursor: str | None
    complete: bool


class Rows(Answer):
    """Some rows by column."""

    rows: list[dict[str, str | int | float | None]]
    page: PageOf


AnswerResult = Annotated[CallToolResult, Answer]
RowsResult = Annotated[CallToolResult, Rows]


def tool_answer(ask: Callable[[], Document]) -> CallToolResult:
    """Ask, and answer a tool's call; never raises for what the index or the question is at fault for."""
    document, is_error = _asked(ask)
    text = TextContent(type="text", text=json.dumps(document, ensure_ascii=False))
    return CallToolResult(content=[text], structured_content=document, is_error=is_error)


def resource_answer(ask: Callable[[], Document]) -> str:
    """Ask, and answer the reading of a resource as JSON; an error is a document with ``error``."""
    return json.dumps(_asked(ask)[0], ensure_ascii=False)


def _asked(ask: Callable[[], Document]) -> tuple[Document, bool]:
    try:
        return ask(), False
    except CommandFailed as error:
        return _error(error.failure), True
    except index_store.IndexStoreError as error:
        return _error(failure_of_store(error)), True
    except OSError as error:
        return _error(failure_of_system(error)), True


def _error(failure: Failure) -> Document:
    document: dict[str, Any] = dict(failure.to_document())
    if failure.code == "missing_database":
        document["freshness"] = "missing"
    return document
