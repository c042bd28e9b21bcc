"""Finding the envelope in what a model wrote."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_workflow.tracer._json import clip

if TYPE_CHECKING:
    from agent_workflow.tracer._envelopes import EnvelopeBase

EnvelopeT = TypeVar("EnvelopeT", bound="EnvelopeBase")
_FENCE: Final = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_MAX_STARTS: Final = 2_000  # a reply full of braces must not take for ever


class UnreadableReply(ValueError):
    """The text holds no envelope of the asked type; the message is fit for the model to read."""


def parse_reply(text: str, output_type: "type[EnvelopeT]") -> "EnvelopeT":
    """Read an envelope from a reply that may have words or fences around it.

    Raises:
        UnreadableReply: there is no JSON object, or it does not fit the type.
    """
    from pydantic import ValidationError

    first_fault = ""
    for candidate in _objects(text):
        try:
            return output_type.model_validate(candidate)
        except ValidationError as error:
            first_fault = first_fault or _in_words(error)
    if first_fault:
        raise UnreadableReply(f"invalid {output_type.__name__} JSON: {first_fault}")
    raise UnreadableReply(f"invalid {output_type.__name__} JSON: no JSON object found in the response")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text, the likeliest first: the whole, fenced ones, bare ones, last first."""
    for part in [text, *reversed(_FENCE.findall(text))]:
        value = _load(part.strip())
        if isinstance(value, dict):
            yield value
    yield from reversed(list(_bare_objects(text)))


def _bare_objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    position = text.find("{")
    for _ in range(_MAX_STARTS):
        if position < 0:
            return
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position = text.find("{", position + 1)
            continue
        if isinstance(value, dict):
            yield value
        position = text.find("{", end)


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _in_words(error: Any) -> str:  # noqa: ANN401 - pydantic is imported only where a reply is parsed
    faults = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
    return clip("; ".join(faults), 500)
