"""What is cut is still JSON, is small, and says what is missing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer._cutting import CUT_CHARACTERS, cut_json, cut_payload

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(value=JSON, times=st.integers(1, 2000))
def test_a_cut_text_is_json_and_small(value: object, times: int) -> None:
    """Whatever the payload is."""
    cut = cut_json(json.dumps({"value": [value] * times}))

    json.loads(cut)
    assert len(cut) <= 4 * CUT_CHARACTERS


def test_short_fields_stay_as_they_are() -> None:
    """The tool, its verdict and its duration are what a list needs."""
    payload = {"tool": "bash", "ok": False, "duration_ms": 12, "result_snippet": "x" * 100_000}

    cut = json.loads(cut_json(json.dumps(payload)))

    assert ("bash", False, 12) == (cut["tool"], cut["ok"], cut["duration_ms"])
    assert cut["result_snippet"].endswith("… [99,000 more characters]")


@pytest.mark.parametrize("text", ["not json " * 1000, "[" * 100_000, '"' + "x" * 10_000, "\x00" * 10_000])
def test_what_is_no_json_becomes_a_json_string(text: str) -> None:
    """A damaged payload is shown as text."""
    assert isinstance(json.loads(cut_json(text)), str)


def test_a_payload_within_the_limit_is_left_alone() -> None:
    """Only its size is told."""
    row: dict[str, object] = {"payload_json": "{}"}

    cut_payload(row, "payload_json", 10)

    assert {"payload_json": "{}", "payload_size": 2, "payload_cut": False} == row
