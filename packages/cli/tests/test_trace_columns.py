"""How rows of a trace are shown."""

import pytest

from agent_workflow.cli._trace_columns import SESSIONS, show_rows


@pytest.mark.parametrize(
    ("tokens", "cost", "shown"),
    [
        (0, None, ["-", "unknown"]),
        (0, 0.0, ["0", "$0.0000"]),
        (1200, None, ["1,200", "unknown"]),
        (1200, 2.5, ["1,200", "$2.50"]),
    ],
)
def test_what_nobody_counted_is_no_zero(tokens: int, cost: float | None, shown: list[str]) -> None:
    """A session begins with 0 tokens; where no cost became known they are unknown, and where nothing was spent 0."""
    row = dict.fromkeys(("adw_id", "shown_status", "adw_name", "request", "started_at"), "x") | {"phase_count": 1}

    _, line = show_rows([row | {"total_tokens": tokens, "total_cost": cost}], SESSIONS, wide=True, none="")

    assert shown == line.split()[5:7]
