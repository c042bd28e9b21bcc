"""A real collector takes a recorded workflow: agents, model calls and tools, nested, with tokens, each once."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integrations.conftest import Recorded

pytestmark = [pytest.mark.collector, pytest.mark.timeout(1800)]  # it starts slowly on a busy machine

_DEADLINE_SECONDS = 120


def spans_at(address: str, count: int) -> list[Any]:
    """Wait until the collector shows so many spans, and return all that it has."""
    end = time.monotonic() + _DEADLINE_SECONDS
    found: list[Any] = []
    while time.monotonic() < end and len(found) < count:
        found = _spans(address)
        time.sleep(0.2)
    return found


def _spans(address: str) -> list[Any]:
    found: list[Any] = []
    cursor = ""
    while True:
        query = urllib.parse.urlencode({"limit": 100} | ({"cursor": cursor} if cursor else {}))
        try:
            with urllib.request.urlopen(f"{address}/v1/projects/default/spans?{query}", timeout=60) as reply:
                page = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:  # the project is made with its first span
                    raise
            return []
        found += page["data"]
        cursor = page.get("next_cursor") or ""
        if not cursor:
            return found


def names_down_to(span: Any, by_id: dict[str, Any]) -> list[str]:
    """Return what the collector calls the kinds from the root down to a span."""
    kinds = [span["span_kind"]]
    while span["parent_id"]:
        span = by_id[span["parent_id"]]
        kinds.append(span["span_kind"])
    return kinds[::-1]


def test_phoenix_shows_a_recorded_workflow_once(recorded: "Recorded", phoenix: str) -> None:
    """Sent twice: the tree is there once, with the tokens and the seal that the trace and the index have."""
    call = ("export", "otlp", "--endpoint", phoenix, "--json")
    first = json.loads(recorded.ask(*call).stdout)
    shown = spans_at(phoenix, first["spans"])

    second = json.loads(recorded.ask(*call, OTEL_EXPORTER_OTLP_COMPRESSION="gzip").stdout)
    recorded.record()  # it is sent last: when it is shown, all that came before has been taken in
    both = json.loads(recorded.ask(*call).stdout)
    everything = spans_at(phoenix, both["spans"])

    again = [span for span in everything if span["context"]["trace_id"] == first["sessions"][0]["trace_id"]]
    by_id = {span["context"]["span_id"]: span for span in again}
    models, tools = ([span for span in again if span["span_kind"] == kind] for kind in ("LLM", "TOOL"))
    (root,) = [span for span in again if not span["parent_id"]]
    session = json.loads(recorded.ask("trace", "sessions", "--json").stdout)["sessions"][-1]
    assert first == second
    assert first["spans"] == len(shown) == len(again) == len(by_id)
    assert both["spans"] == len(everything)
    assert {("AGENT", "UNKNOWN", "AGENT", "LLM")} == {tuple(names_down_to(span, by_id)) for span in models}
    assert {("AGENT", "UNKNOWN", "AGENT", "TOOL")} == {tuple(names_down_to(span, by_id)) for span in tools}
    assert session["total_tokens"] == sum(span["attributes"]["llm.token_count.total"] for span in models)
    assert [3330, 1210, 1210] == [
        span["attributes"]["llm.token_count.prompt"] for span in sorted(models, key=lambda span: span["start_time"])
    ]
    assert {"bash", "read", "write"} == {span["attributes"]["tool.name"] for span in tools}
    assert "sealed" == root["attributes"]["agent_workflow.seal.state"]
    assert session["total_cost"] == root["attributes"]["agent_workflow.cost.usd"]
