"""A turn of the scripted model server as the providers of four agents stream it.

Call n of a script takes 100 + 10n fresh tokens, 1000n from the cache (Anthropic's writes 500 to it), and gives 50 + n.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracer_lab import Turn

Event = dict[str, Any]


def events(path: str, number: int, turn: "Turn") -> Iterator[tuple[str, Event]]:
    """Write a turn for the provider that a path belongs to: names of events, empty for none, and their data."""
    if path.startswith("/v1/messages"):
        return _anthropic(number, turn)
    if path.startswith("/v1/responses"):
        return _responses(number, turn)
    return _gemini(number, turn)


def refusal(path: str, status: int, message: str) -> Event:
    """Write an error as a provider does."""
    if path.startswith("/v1/messages"):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    if path.startswith("/v1beta"):
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    # opencode asks again after whatever calls itself a server's error, for a minute.
    return {"error": {"message": message, "type": "server_error" if status >= 500 else "invalid_request_error"}}


def _anthropic(number: int, turn: "Turn") -> Iterator[tuple[str, Event]]:
    spent = {
        "input_tokens": 100 + 10 * number,
        "cache_creation_input_tokens": 500,
        "cache_read_input_tokens": 1000 * number,
        "output_tokens": 1,
    }
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": []}
    yield "message_start", {"message": {**head, "stop_reason": None, "stop_sequence": None, "usage": spent}}
    blocks: list[tuple[Event, Event]] = []
    if turn.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}))
    for index, (name, arguments) in enumerate(turn.tools):
        block = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
    for index, (block, delta) in enumerate(blocks):
        yield "content_block_start", {"index": index, "content_block": block}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = turn.finish or ("tool_use" if turn.tools else "end_turn")
    usage = {"output_tokens": 50 + number}
    yield "message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield "message_stop", {}


def _responses(number: int, turn: "Turn") -> Iterator[tuple[str, Event]]:
    response: Event = {"id": f"resp_{number}", "object": "response", "model": "scripted", "output": []}
    yield "response.created", {"response": response}
    items: list[Event] = []
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content})
    for index, (name, arguments) in enumerate(turn.tools):
        namespace, _, short = name.rpartition(".")
        call = {"name": short, "arguments": json.dumps(arguments), "call_id": f"call_{number}_{index}"}
        if namespace:
            call["namespace"] = namespace
        items.append({"type": "function_call", "id": f"fc_{number}_{index}", **call})
    for index, item in enumerate(items):
        yield "response.output_item.done", {"output_index": index, "item": {**item, "status": "completed"}}
    cached, fresh, given = 1000 * number, 100 + 10 * number, 50 + number
    usage = {
        "input_tokens": fresh + cached,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": fresh + cached + given,
    }
    yield "response.completed", {"response": {**response, "status": "completed", "usage": usage}}


def _gemini(number: int, turn: "Turn") -> Iterator[tuple[str, Event]]:
    parts: list[Event] = [{"text": turn.text}] if turn.text else []
    parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in turn.tools]
    cached, fresh, given = 1000 * number, 100 + 10 * number, 50 + number
    usage = {
        "promptTokenCount": fresh + cached,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": given - 20,
        "thoughtsTokenCount": 20,
        "totalTokenCount": fresh + cached + given,
    }
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    yield "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-pro"}
