"""What happened in each stream of the corpus, written down from how the captures were made.

The model behind them was scripted: call i took 100 + 10i fresh tokens and 1000i from the cache (Anthropic's wrote 500
to it) and gave 50 + i, 20 of them thinking (gemini's 20 came on top). So the number of calls gives every sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One stream.

    Attributes:
        verdict, error, stop: how it ended; ``error`` is a part of the words.
        calls: of the model, those that were answered.
        tools: in the order they ended: ``name+`` worked, ``name-`` did not, ``name~`` was cut off; with milliseconds
            where the agent tells them.
        session: how the agent's id of the conversation begins.
        known: how much of the usage is known.
        window: of the model, as told.
        denied: tools that were not allowed.
        turns: where it is another number than ``calls``.
        alone: what is different without the tool's own file.
    """

    verdict: str
    calls: int
    tools: str
    session: str
    stop: str = ""
    error: str = ""
    known: str = "whole"
    retries: int | None = 0
    window: int | None = None
    denied: str = ""
    damaged: int = 0
    turns: int | None = None
    model: str = ""
    alone: Mapping[str, Any] = field(default_factory=dict)


def claude(verdict: str, calls: int, tools: str, session: str, stop: str = "end_turn", **more: Any) -> Row:
    """A row of Claude Code, whose window is told by its result."""
    told = {"window": 1_000_000, "model": "claude-opus-4-8", **more}
    return Row(verdict, calls, tools, session, stop, **told)


def codex(verdict: str, calls: int, tools: str, session: str, **more: Any) -> Row:
    """A row of Codex, whose model and window are told by its rollout."""
    told = {"window": 258_400, "model": "gpt-5.5", **more}
    return Row(verdict, calls, tools, session, **told)


def gemini(verdict: str, calls: int, tools: str, session: str, **more: Any) -> Row:
    """A row of gemini-cli, which tells of retries on its standard error alone."""
    alone = {"retries": None, **more.pop("alone", {})}
    return Row(verdict, calls, tools, session, **{"model": "gemini-2.5-pro", **more}, alone=alone)


def opencode(verdict: str, calls: int, tools: str, session: str, stop: str = "stop", **more: Any) -> Row:
    """A row of opencode, which tells of no retries and no model."""
    return Row(verdict, calls, tools, session, stop, **{"retries": None, **more})


def pi(verdict: str, calls: int, tools: str, session: str, stop: str = "stop", **more: Any) -> Row:
    """A row of pi."""
    return Row(verdict, calls, tools, session, stop, **{"model": "local/scripted", **more})


_SHELL = "run_shell_command"
_CODEX_BASIC = (
    "command_execution+ file_change+ command_execution+ command_execution- file_change+ command_execution- apply_patch-"
)
_CODEX_BASIC_ALONE = _CODEX_BASIC.removesuffix(" apply_patch-")
_CODEX_CUT = "command_execution+ command_execution~"
_NO_PATCH = "command_execution+ command_execution+ command_execution- command_execution-"
_CUT: dict[str, Any] = {"known": "partial", "window": None}
_UNTOLD = {"known": "unknown"}
_BUSY = "currently experiencing high demand"

ROWS: dict[str, Row] = {
    "claude/basic": claude("answered", 5, "Bash+ Write+ Read+ Bash- Edit+ Read-", "870814e5"),
    "claude/big_unicode": claude("answered", 62, "*62", "31016681"),
    "claude/budget": claude(
        "failed", 2, "Bash+ Write~ Read~", "f8f5277b", "error_max_budget_usd", error="maximum budget ($0.01)"
    ),
    "claude/denied": claude("answered", 4, "Write- Write- Bash- Bash+", "755db0d0", denied="Write Write Bash"),
    "claude/fail_400": claude("provider_error", 1, "Bash+", "48f42635", "", error="400 prompt is bad"),
    "claude/fail_401": claude(
        "failed",
        0,
        "",
        "817d92ac",
        "",
        error="exit code 137 while it tried again after authentication_failed",
        retries=9,
        known="unknown",
        window=None,
        model="claude-opus-4-8[1m]",
    ),
    "claude/fail_500": claude(
        "provider_error",
        0,
        "",
        "5a9a6ef0",
        "server_error",
        error="500 Internal server error",
        retries=1,
        window=None,
        model="claude-opus-4-8[1m]",
    ),
    "claude/kill_int": claude(
        "aborted", 2, "Bash+ Bash-", "d015fa30", "error_during_execution", error="the turn was interrupted"
    ),
    "claude/kill_kill": claude(
        "failed", 2, "Bash+ Bash~", "d518a0fd", "tool_use", error="exit code 137", alone={"stop": ""}, **_CUT
    ),
    "claude/kill_term": claude("answered", 3, "Bash+ Bash-", "8c0d10f8"),
    "claude/kill_term_midstream": claude(
        "failed", 1, "Bash+", "3eec45a5", "tool_use", error="exit code 143", alone={"stop": ""}, **_CUT
    ),
    "claude/max_tokens": claude("cut_off", 4, "", "d1e14348", "max_output_tokens", error="output token maximum"),
    "claude/max_turns": claude(
        "failed", 2, "Bash+ Write+ Read+", "684f06b4", "error_max_turns", error="maximum number of turns (2)"
    ),
    "claude/partial": claude("answered", 2, "Bash+", "60680c01", alone={"is_final": True}),
    "claude/pipe_fast": claude("answered", 62, "*62", "5e3cc9e6"),
    "claude/pipe_slow": claude(
        "incomplete", 32, "*31", "5ebcc901", "", error="stopped before its result", damaged=1, **_CUT
    ),
    "claude/resume": claude("answered", 2, "Bash+", "870814e5", window=200_000),
    "claude/retry_500": claude("answered", 2, "Bash+", "87944971", retries=3),
    "codex/basic": codex("answered", 6, _CODEX_BASIC, "01a22b54-1b4b", alone={"tools": _CODEX_BASIC_ALONE}),
    "codex/big_unicode": codex("answered", 62, "*61", "01a22b54-69ed"),
    "codex/denied_readonly": codex(
        "answered",
        4,
        "exec_command- apply_patch- exec_command-",
        "01a22b54-1ebf",
        denied="apply_patch exec_command",
        alone={"tools": "", "denied": ""},
    ),
    "codex/fail_400": codex(
        "provider_error",
        1,
        "command_execution+",
        "01a22b54-2704",
        error="prompt is bad",
        known="partial",
        alone=_UNTOLD,
    ),
    "codex/fail_500": codex(
        "provider_error",
        1,
        "command_execution+",
        "01a22b54-2983",
        error=_BUSY,
        retries=2,
        known="partial",
        alone=_UNTOLD,
    ),
    "codex/kill_int": codex(
        "aborted",
        2,
        _CODEX_CUT,
        "01a22b5d-201c",
        stop="interrupted",
        error="the turn was interrupted",
        known="partial",
        alone={**_UNTOLD, "verdict": "failed", "stop": "", "error": "exit code 1"},
    ),
    "codex/kill_kill": codex(
        "failed", 2, _CODEX_CUT, "01a22b5d-86ba", error="exit code 137", known="partial", alone=_UNTOLD
    ),
    "codex/kill_term": codex(
        "failed", 2, _CODEX_CUT, "01a22b5c-ba97", error="exit code 143", known="partial", alone=_UNTOLD
    ),
    "codex/pipe_slow": codex("answered", 62, "*61", "01a22b60-f405"),
    "codex/poll": codex("answered", 4, _CODEX_CUT, "01a22b55-2436"),
    "codex/retry_500": codex("answered", 2, "command_execution+", "01a22b55-1dbb", retries=1),
    "codex/unknown_model": codex(
        "answered",
        6,
        f"{_NO_PATCH} apply_patch- apply_patch- apply_patch-",
        "01a22b64-3afb",
        model="gpt-5.1-codex",
        alone={"tools": _NO_PATCH},
    ),
    "gemini/basic": gemini(
        "answered",
        5,
        f"{_SHELL}+60 write_file+13 read_file+11 {_SHELL}-30 read_file-3 nosuchtool-3",
        "84d2c99a",
        alone={"tools": f"{_SHELL}+60 write_file+13 read_file+11 {_SHELL}+30 read_file-3 nosuchtool-3"},
    ),
    "gemini/big_unicode": gemini("answered", 4, f"{_SHELL}+72 {_SHELL}+25 {_SHELL}+26", "e7899b8a"),
    "gemini/denied_default": gemini(
        "answered", 5, f"{_SHELL}-33 write_file-37 read_file+10 {_SHELL}-1 read_file-3 nosuchtool-3", "545b17ff"
    ),
    "gemini/fail_400": gemini("provider_error", 1, f"{_SHELL}+61", "9acfe9c1", error="prompt is bad"),
    "gemini/kill_int": gemini("answered", 3, f"{_SHELL}+60 {_SHELL}+30020", "afca0a67"),
    "gemini/kill_int_norelaunch": gemini(
        "incomplete", 2, f"{_SHELL}+65 {_SHELL}~", "4f8c9225", error="before its result", known="partial", alone=_UNTOLD
    ),
    "gemini/kill_term": gemini("answered", 3, f"{_SHELL}+66 {_SHELL}+30022", "6ef35eb4"),
    "gemini/kill_term_norelaunch": gemini(
        "incomplete", 2, f"{_SHELL}+65 {_SHELL}~", "2aae9360", error="before its result", known="partial", alone=_UNTOLD
    ),
    "gemini/pipe_slow": gemini("answered", 4, f"{_SHELL}+70 {_SHELL}+32 {_SHELL}+48", "0c1e4323"),
    "gemini/retry_500": gemini("answered", 2, f"{_SHELL}+37", "9f85f5c7", retries=2),
    "opencode/basic": opencode(
        "answered", 5, "bash+111 write+22 read+54 bash-47 nosuchtool-3 read-33 edit+46", "ses_dd4a68513"
    ),
    "opencode/big_unicode": opencode("answered", 4, "bash+105 bash+25 bash+36", "ses_dd4a440b8"),
    "opencode/denied": opencode(
        "aborted",
        1,
        "read-14 bash-131",
        "ses_dd4a451e1",
        "tool-calls",
        error="not permitted: read, bash",
        known="partial",
        denied="read bash",
    ),
    "opencode/fail_400": opencode(
        "provider_error", 1, "bash+88", "ses_dd4a5289c", "tool-calls", error="prompt is bad", known="partial"
    ),
    "opencode/kill_int": opencode("failed", 1, "bash+79", "ses_dd4a2af6d", "", error="exit code 130", known="partial"),
    "opencode/kill_term": opencode("failed", 1, "bash+86", "ses_dd4a31669", "", error="exit code 143", known="partial"),
    "opencode/pipe_fast": opencode("answered", 4, "bash+97 bash+41 bash+30", "ses_dd49cf63c"),
    "opencode/pipe_slow": opencode(
        "incomplete", 1, "bash+105", "ses_dd49d47ec", "", error="before the last step", known="partial", damaged=1
    ),
    "opencode/retry_500": opencode("answered", 2, "bash+125", "ses_dd4a554f6"),
    "opencode/thinking": opencode(
        "answered", 5, "bash+80 write+21 read+19 bash-26 nosuchtool-4 read-17 edit+30", "ses_dd4a431bc"
    ),
    "pi/a_success": pi("answered", 6, "read+7 bash+13 write+1 bash-8 read-1 edit+4 nosuchtool- read- bash-1004", "piA"),
    "pi/b_retry_500": pi("answered", 2, "bash+17", "piB", retries=2, turns=4),
    "pi/c_kill_int": pi("failed", 2, "bash+9 bash~", "piCint", "toolUse", error="exit code 130", known="partial"),
    "pi/c_kill_kill": pi("failed", 2, "bash+9 bash~", "piCkill", "toolUse", error="exit code 137", known="partial"),
    "pi/c_kill_term": pi("failed", 2, "bash+9 bash~", "piCterm", "toolUse", error="exit code 143", known="partial"),
    "pi/c_kill_term_midstream": pi("failed", 1, "bash+10", "piCm", "toolUse", error="exit code 143", known="partial"),
    "pi/d_big_unicode": pi("answered", 61, "*60", "piD2"),
    "pi/g_fail_400": pi("provider_error", 1, "bash+9", "piG", "error", error="prompt is bad", turns=2),
    "pi/h_length": pi("cut_off", 1, "", "piH", "length", error="output limit"),
    "pi/pipe_slow": pi("answered", 61, "*60", "piPipeS"),
    "pi/pipe_term": pi(
        "failed",
        7,
        "bash+8 bash+5 bash+7 bash+5 bash+6 bash+6 bash+6",
        "piPipeT",
        "toolUse",
        error="exit code 143",
        known="partial",
    ),
}
