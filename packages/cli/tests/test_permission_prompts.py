"""Prompts at the end of terminals and standard errors: found where they stand, and nowhere else."""

from collections.abc import Callable
from hashlib import sha256

import pytest
import terminal_dialogs as dialogs
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.cli.supervisor._permission_screen import visible_lines
from agent_workflow.cli.supervisor.permissions import Observation, observe

Drawing = Callable[[str], bytes]

_CASES = [
    pytest.param("claude", dialogs.CLAUDE_COMMAND, "claude-approval-prompt/v1", "execute", "Bash", id="claude-command"),
    pytest.param("claude", dialogs.CLAUDE_CREATE, "claude-approval-prompt/v1", "write", None, id="claude-create"),
    pytest.param("claude", dialogs.CLAUDE_FETCH, "claude-approval-prompt/v1", "network", "WebFetch", id="claude-fetch"),
    pytest.param("claude", dialogs.CLAUDE_BOXED, "claude-approval-prompt/v1", "execute", "Bash", id="claude-boxed"),
    pytest.param(
        "claude", dialogs.CLAUDE_TRUST, "claude-choice-prompt/v1", "executor_interaction", None, id="claude-trust"
    ),
    pytest.param(
        "claude", dialogs.CLAUDE_QUESTION, "claude-choice-prompt/v1", "executor_interaction", None, id="claude-question"
    ),
    pytest.param("claude", dialogs.CLAUDE_PLAN, "claude-approval-prompt/v1", "tool", None, id="claude-plan"),
    pytest.param("claude", dialogs.CLAUDE_WRAPPED, "claude-approval-prompt/v1", "write", None, id="claude-wrapped"),
    pytest.param("codex", dialogs.CODEX_COMMAND, "codex-approval-prompt/v1", "execute", None, id="codex-command"),
    pytest.param("codex", dialogs.CODEX_EDITS, "codex-approval-prompt/v1", "write", None, id="codex-edits"),
    pytest.param(
        "codex", dialogs.CODEX_OTHER, "codex-choice-prompt/v1", "executor_interaction", None, id="codex-other"
    ),
    pytest.param("pi", dialogs.PI_SELECT, "pi-dialog-prompt/v1", "executor_interaction", None, id="pi-select"),
    pytest.param("pi", dialogs.PI_INPUT, "pi-dialog-prompt/v1", "executor_interaction", None, id="pi-input"),
]


@pytest.mark.parametrize("draw", dialogs.DRAWINGS.values(), ids=dialogs.DRAWINGS.keys())
@pytest.mark.parametrize(("agent", "screen", "rule", "operation", "target"), _CASES)
def test_a_dialog_at_the_end_is_pending(
    agent: str, screen: str, rule: str, operation: str, target: str | None, draw: Drawing
) -> None:
    """Captured, drawn with relative moves and drawn by address: the same prompt, and a person is needed."""
    (seen,) = observe("terminal", agent, draw(screen))

    assert ("pending", rule, operation, target) == (seen.state, seen.policy_rule_id, seen.operation, seen.target)
    assert ("human_required", "manual approval", 0) == (seen.remediation_class, seen.requested_access, seen.position)
    assert observe("terminal", agent, screen.encode()) == [seen]


@pytest.mark.parametrize(("agent", "screen", "rule", "operation", "target"), _CASES)
def test_a_dialog_with_anything_below_it_is_over(
    agent: str, screen: str, rule: str, operation: str, target: str | None
) -> None:
    """What the agent said or drew afterwards clears the prompt, the text of which may still be seen."""
    foot = {"claude": dialogs.CLAUDE_FOOT, "codex": dialogs.CODEX_FOOT, "pi": dialogs.PI_FOOT}[agent]

    assert [] == observe("terminal", agent, f"{screen}\n\n● Done.\n\n{foot}".encode())
    assert [] == observe("terminal", agent, f"{screen}\n{foot}".encode())


@pytest.mark.parametrize(("agent", "screen", "rule", "operation", "target"), _CASES)
def test_a_dialog_that_was_wiped_out_is_over(
    agent: str, screen: str, rule: str, operation: str, target: str | None
) -> None:
    """A redraw over the prompt clears it, though its bytes are still there."""
    lines = screen.count("\n")
    foot = {"claude": dialogs.CLAUDE_FOOT, "codex": dialogs.CODEX_FOOT, "pi": dialogs.PI_FOOT}[agent]
    wiped = dialogs.with_moves(screen) + f"\r\x1b[{lines}A\x1b[J".encode() + dialogs.with_moves(foot)

    assert [] == observe("terminal", agent, wiped)


@pytest.mark.parametrize(("agent", "screen", "rule", "operation", "target"), _CASES)
def test_of_an_unknown_agent_no_dialog_is_guessed(
    agent: str, screen: str, rule: str, operation: str, target: str | None
) -> None:
    """The dialogs of known programs are read for these programs only."""
    others = {"claude", "codex", "pi", "gemini", None} - {agent}

    assert [] == [seen for other in others for seen in observe("terminal", other, screen.encode())]


@pytest.mark.parametrize(("agent", "screen"), dialogs.NO_DIALOGS.values(), ids=dialogs.NO_DIALOGS.keys())
def test_text_that_looks_like_a_dialog_is_none(agent: str | None, screen: str) -> None:
    """Prose, code, diffs and answered questions are no prompts."""
    assert [] == observe("terminal", agent, screen.encode())


@pytest.mark.parametrize("channel", ["terminal", "stderr"])
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Do you want to continue? [Y/n] ", "generic-confirmation/v1"),
        ("Overwrite existing file? (yes/no)", "generic-confirmation/v1"),
        ("continue connecting (yes/no/[fingerprint])? ", "generic-confirmation/v1"),
        ("\x1b[33mProceed?\x1b[0m [y/N]: ", "generic-confirmation/v1"),
        ("Approval required. Allow this command?\n", "generic-approval-question/v1"),
        ("Approve the plan?", "generic-approval-question/v1"),
        ("[sudo] password for dev: ", "generic-secret-prompt/v1"),
        ("Enter passphrase for key '/home/dev/.ssh/id': ", "generic-secret-prompt/v1"),
    ],
)
@pytest.mark.parametrize("agent", [None, "pi", "other"])
def test_a_generic_prompt_counts_at_the_end_only(channel: str, agent: str | None, line: str, rule: str) -> None:
    """The last line of any agent may ask; once something follows it is over."""
    data = f"some output\n{line}".encode()

    (seen,) = _observe(channel, agent, data)

    assert ("pending", rule, "executor_interaction", "unknown", None) == (
        seen.state,
        seen.policy_rule_id,
        seen.operation,
        seen.resource_class,
        seen.target,
    )
    assert [] == _observe(channel, agent, data.rstrip() + b"\nwent on\n")


def test_the_evidence_of_a_dialog_does_not_change_with_the_marked_answer() -> None:
    """Moving to another answer is no new prompt; another command is."""
    first = dialogs.CODEX_COMMAND
    moved = first.replace(f"{dialogs.CODEX_MARK} 1.", "  1.").replace("  2.", f"{dialogs.CODEX_MARK} 2.")
    other = first.replace("make tidy", "make clean")

    digests = [observe("terminal", "codex", text.encode())[0].evidence_sha256 for text in (first, moved, other)]

    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_codex_tells_in_its_terminal_what_was_not_approved() -> None:
    """Its own notice counts, the same words in an answer or in the output of a tool do not."""
    notice = "✗ You canceled the request to run make tidy"
    screen = f"{notice}\n• Ran it\n  └ {notice}\n• {notice}\n\n{dialogs.CODEX_FOOT}"

    (seen,) = observe("terminal", "codex", screen.encode())

    assert ("denied", "execute", None, "policy_review") == (
        seen.state,
        seen.operation,
        seen.target,
        seen.remediation_class,
    )


def test_claude_tells_in_its_terminal_what_was_not_approved() -> None:
    """Its notice below a change counts, the same words below a command do not: that is what the command printed."""
    notice = "  ⎿  User rejected update to notes.md"
    screen = f"● Bash(cat log)\n{notice}\n● Update(notes.md)\n{notice}\n● {notice}\n\n{dialogs.CLAUDE_FOOT}"

    (seen,) = observe("terminal", "claude", screen.encode())

    assert ("denied", "write", None, "policy_review") == (
        seen.state,
        seen.operation,
        seen.target,
        seen.remediation_class,
    )


def test_codex_logs_its_rejections() -> None:
    """Each rejected call of ``codex exec`` is one line of its standard error; the digest is the line's."""
    patch = b"2026-01-02T03:04:05Z ERROR codex_core::tools::router: error=patch rejected: blocked by read-only sandbox"
    call = (
        b"2026-01-02T03:04:06Z ERROR codex_core::tools::router: error=approval policy is Never; reject command, sorry"
    )
    other = b"2026-01-02T03:04:07Z ERROR codex_core::tools::router: error=unsupported call: patch rejected"

    seen = observe("stderr", "codex", b"\n".join([b"Reading input", patch, other, call, b""]))

    assert [("denied", "write", 14), ("denied", "execute", 14 + len(patch) + len(other) + 2)] == [
        (one.state, one.operation, one.position) for one in seen
    ]
    assert sha256(patch).hexdigest() == seen[0].evidence_sha256
    assert [] == observe("stderr", "codex", patch)
    assert [] == observe("stderr", None, patch + b"\n")


def test_opencode_logs_what_it_rejects_by_itself() -> None:
    """The path in its line is not kept."""
    line = b"\x1b[93m\x1b[1m! \x1b[0mpermission requested: bash (make *); auto-rejecting\n"

    (seen,) = observe("stderr", "opencode", line)

    assert ("denied", "execute", None) == (seen.state, seen.operation, seen.target)


@given(st.sampled_from(["claude", "codex", "pi", None]), st.binary(max_size=300))
def test_random_bytes_raise_nothing(agent: str | None, data: bytes) -> None:
    """Whatever a terminal or a standard error holds."""
    for channel in ("terminal", "stderr"):
        for seen in _observe(channel, agent, data):
            assert 0 <= seen.position <= len(data)


@given(st.text(alphabet="\x1b[];?0123456789ABCDGHJKLMPSTXdhlmrsu@7\r\n\t\b ab漢\u0301", max_size=200))
def test_random_sequences_raise_nothing(text: str) -> None:
    """Cursor moves out of the screen, empty regions, unfinished sequences."""
    lines = visible_lines(text.encode())

    assert not lines or lines[-1]
    assert not any("\x1b" in line or "\n" in line for line in lines)


@given(st.lists(st.text(alphabet="abc d→漢", max_size=30).map(str.rstrip), min_size=1, max_size=20))
def test_a_screen_shows_what_was_drawn(lines: list[str]) -> None:
    """However the lines were drawn, they are read as they look."""
    text = "\n".join(lines)
    expected = text.rstrip("\n").split("\n") if text.strip() else []

    assert expected == visible_lines(text.encode())
    assert expected == visible_lines(dialogs.with_moves(text))


def test_an_alternate_screen_gives_back_what_was_under_it() -> None:
    """An editor or a pager that was left does not hide the prompt."""
    data = b"Proceed? [y/N] \x1b[?1049h\x1b[2J\x1b[1;1Han editor\x1b[?1049l"

    assert ["Proceed? [y/N]"] == visible_lines(data)
    assert 1 == len(observe("terminal", None, data))


def test_a_reset_terminal_is_empty() -> None:
    """What stood there before the reset is over, the alternate screen and the region too."""
    assert [] == observe("terminal", None, b"\x1b[?1049h\x1b[1;5rProceed? [y/N] \x1bc")
    assert ["one"] == visible_lines(b"\x1b[3;5r\x1b[?1049hold\x1bcone")


def test_a_scrolled_region_moves_its_lines_only() -> None:
    """The lines outside of the region stay."""
    data = b"\x1b[1;1Hone\x1b[2;1Htwo\x1b[3;1Hthree\x1b[4;1Hfoot\x1b[1;3r\x1b[3;1H\nfour\x1b[r\x1b[24;1Hlast"

    assert ["two", "three", "four", "foot"] == visible_lines(data)[:4]


def _observe(channel: str, agent: str | None, data: bytes) -> list[Observation]:
    return observe("terminal" if channel == "terminal" else "stderr", agent, data)
