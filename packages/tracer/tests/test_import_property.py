"""Whatever the order, the pieces and the repetitions: the same files come to the same rows, and so does a rebuild."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from import_lab import FIRST, SECOND, Trace, answer, lines, prompt, returned, tool_use

from agent_workflow.tracer import rebuild

THIRD = "3d3e82e4-2d41-4ba8-8e60-2b2e6e51bc33"
_SIDE: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
_OLD = [
    prompt(FIRST, "One", 0),
    answer(FIRST, "a", 1, tool_use("t1"), spent=(100, 1, 7, 9)),
    returned(FIRST, "t1", 2),
    answer(FIRST, "b", 3, spent=(200, 2)),
]
_CODEX = "01957000-0000-7000-8000-000000000001"


def _codex(at: int, kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": f"2026-03-01T00:00:{at:02d}.000Z", "type": kind, "payload": payload}


def _count(at: int, total: int, last: int) -> dict[str, object]:
    told = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}}
    return _codex(at, "event_msg", type="token_count", info=told)


FILES = {
    f"p/{FIRST}.jsonl": lines(
        *_OLD,
        prompt(FIRST, "Two", 10),
        answer(FIRST, "c", 11, {"type": "text", "text": "partial"}, spent=(300, 1)),
        answer(FIRST, "c", 12, tool_use("t2"), spent=(300, 30)),
        returned(FIRST, "t2", 12, is_error=True),
        answer(FIRST, "d", 13, spent=(1, 1)),
    ),
    # Resumed into a file of its own, with all that was before; its last call is open.
    f"p/{SECOND}.jsonl": lines(
        *({**record, "sessionId": SECOND} for record in _OLD),
        prompt(SECOND, "Three", 20),
        answer(SECOND, "e", 21, tool_use("t3"), spent=(400, 4)),
    ),
    # A fork that says so.
    f"p/{THIRD}.jsonl": lines(
        *({**record, "sessionId": THIRD, "forkedFrom": {"sessionId": FIRST}} for record in _OLD),
        prompt(THIRD, "Four", 30),
        answer(THIRD, "f", 31, spent=(500, 5)),
    ),
    f"p/{FIRST}/subagents/agent-ab12.jsonl": lines(
        prompt(FIRST, "Explore", 2, **_SIDE),
        answer(FIRST, "n", 2, tool_use("t4"), spent=(1000, 3), **_SIDE),
        returned(FIRST, "t4", 3, **_SIDE),
        answer(FIRST, "m", 3, spent=(1000, 4), **_SIDE),
    ),
    # A copy of the beginning of the first one, under another name.
    "backup/old.jsonl": lines(*_OLD[:3]),
    "codex/rollout-1.jsonl": lines(
        _codex(0, "session_meta", id=_CODEX, cwd="/r", model_provider="openai"),
        _codex(1, "event_msg", type="user_message", message="Hello"),
        _count(2, 100, 100),
        _count(3, 100, 100),
        _count(4, 150, 50),
        _codex(5, "event_msg", type="task_complete"),
    ),
    "codex/rollout-2.jsonl": lines(
        _codex(50, "session_meta", id=f"{_CODEX[:-1]}2", forked_from_id=_CODEX, model_provider="openai"),
        _codex(50, "session_meta", id=_CODEX),
        _count(50, 100, 100),
        _count(50, 150, 50),
        _codex(51, "event_msg", type="user_message", message="Fork"),
        _count(52, 190, 40),
    ),
}
_NAMES = sorted(FILES)

# Steps: a file grows to a share of its length, and one file or everything is imported.
_STEP = st.tuples(st.sampled_from(_NAMES), st.integers(0, 100), st.booleans())


def _grow(folder: Path, name: str, size: int) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    present = file.stat().st_size if file.exists() else 0
    if size > present:
        with file.open("ab") as stream:
            stream.write(FILES[name][present:size])


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(_STEP, max_size=12), rest=st.permutations(_NAMES))
def test_order_pieces_and_repetitions_do_not_matter(steps: list[tuple[str, int, bool]], rest: list[str]) -> None:
    """Files grow in pieces that end anywhere and are imported in any order, again and again."""
    scratch = Path(tempfile.mkdtemp())
    try:
        folder = scratch / "sources"
        trace = Trace(scratch / "trace")
        for name, share, everything in steps:
            _grow(folder, name, len(FILES[name]) * share // 100)
            trace.take(folder if everything else folder / name)
        for name in rest:
            _grow(folder, name, len(FILES[name]))
            trace.take(folder / name)
        grown = trace.tables()
        at_once = Trace(scratch / "at-once")
        at_once.take(folder)

        assert at_once.tables() == grown

        trace.take(folder)
        again = Trace(scratch / "rebuilt")
        rebuild(again.db, trace.folder)

        assert grown == trace.tables() == again.tables()
    finally:
        shutil.rmtree(scratch)


def test_what_these_files_come_to(tmp_path: Path) -> None:
    """The sums that every order must give: each message once, for the session that had it first."""
    for name in _NAMES:
        _grow(tmp_path / "sources", name, len(FILES[name]))
    trace = Trace(tmp_path / "trace")

    trace.take(tmp_path / "sources")

    first = (117 + 202) + (330 + 2) + (1003 + 1004)
    assert {
        f"claude_code-{FIRST}": first,
        f"claude_code-{SECOND}": 404,
        f"claude_code-{THIRD}": 505,
        f"codex-{_CODEX}": 150,
        f"codex-{_CODEX[:-1]}2": 40,
    } == trace.tokens()
