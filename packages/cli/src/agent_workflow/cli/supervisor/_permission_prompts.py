"""Prompts that stand at the end of a terminal or of a standard error, and refusals that are told there.

A prompt counts only where the program's own dialog is the last thing on the screen: below a question in an agent's
prose, in a diff or in a tool's output these programs always draw their input line or a status.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from agent_workflow.cli.supervisor._permission_facts import (
    EXECUTE,
    INTERACTION,
    NETWORK,
    READ,
    TOOL,
    WRITE,
    Access,
    Observation,
    observation,
)
from agent_workflow.cli.supervisor._permission_screen import visible_lines

_DIALOG_LINES: Final = 80  # how far above the answers a dialog may begin
_QUESTION_LINES: Final = 4  # a long name in a question is wrapped
_FOOTER_LINES: Final = 6

_RULE: Final = re.compile(r"\s*[╭┌]?[─━]{20,}[╮┐]?\s*\Z")
_BOX_END: Final = re.compile(r"\s*[╰└][─━]{20,}[╯┘]\s*\Z")
_ANSWER: Final = re.compile(r"\s{0,3}(?P<mark>[\u276f\u203a>]\s?)?\s{0,3}(?P<number>\d)\.\s+(?P<text>\S.*)\Z")
_CONTINUED: Final = re.compile(r"\s{5,}\S")
_MARK: Final = re.compile(r"^\s*[\u276f\u203a→>]?\s*")

_CLAUDE_MARK: Final = "\u276f"
_CLAUDE_QUESTION: Final = re.compile(
    r"\s{0,2}(?:Do you want to \S|Exit plan mode\?|(?:.*\. )?Would you like to proceed\?)"
)
_CLAUDE_HINT: Final = re.compile(r"\s{0,3}(?:Esc|Enter|Tab|Shift\+Tab|ctrl\+\w) to \w", re.IGNORECASE)
_CLAUDE_CHANGE: Final = re.compile(r"● (?:Write|Update|Edit|MultiEdit|NotebookEdit|Create)\(")
_CLAUDE_REFUSED: Final = re.compile(r"  ⎿\s+User rejected \w+ to ")
_CLAUDE_TITLES: Final = (
    (re.compile(r"\s*Bash command\b"), EXECUTE._replace(target="Bash")),
    (re.compile(r"\s*(?:Create|Overwrite|Edit|Write)\b.* (?:file|notebook)\b"), WRITE),
    (re.compile(r"\s*Read\b"), READ),
    (re.compile(r"\s*Fetch\b"), NETWORK._replace(target="WebFetch")),
    (re.compile(r"\s*(?:Web )?Search\b"), NETWORK._replace(target="WebSearch")),
    (re.compile(r"\s*Network request\b"), NETWORK),
)
_CLAUDE_QUESTIONS: Final = (
    (re.compile(r"\s*Do you want to (?:create|overwrite|make this edit)\b"), WRITE),
    (re.compile(r"\s*Do you want to allow this connection\b"), NETWORK),
    (re.compile(r"\s*Do you want to (?:proceed|allow)\b"), TOOL),
    (re.compile(r".*(?:plan mode\?|like to proceed\?)"), TOOL),
)

_CODEX_MARK: Final = "\u203a"
_CODEX_HINT: Final = re.compile(r"\s{0,3}Press enter to confirm or esc to cancel\b")
_CODEX_QUESTION: Final = re.compile(r"\s{0,2}(?:Would you like to|Do you want to|Allow)\b.*\?\s*\Z")
_CODEX_QUESTIONS: Final = (
    (re.compile(r"\s*Would you like to (?:run the following command|send input to)\b"), EXECUTE),
    (re.compile(r"\s*Would you like to make the following edits\b"), WRITE),
    (re.compile(r"\s*(?:Do you want to|Would you like to) (?:approve|allow) network\b"), NETWORK),
)
_CODEX_REFUSED: Final = re.compile(r"✗ You (?:canceled the request to|did not approve codex to) (?P<what>\w+)")
_CODEX_ERROR: Final = re.compile(
    rb"ERROR \S*codex_core\S* error="
    rb"(?P<what>patch rejected\b|exec command rejected\b|approval policy is \w+; reject command\b)"
)

_PI_HINT: Final = re.compile(r"\s*(?:↑↓ navigate\s+)?enter (?:select|submit)\s+.*\bcancel\s*\Z")
_PI_CHOSEN: Final = re.compile(r"\s{0,2}→ \S")

_CONFIRMATION: Final = re.compile(r"[\[(](?:y|yes)/(?:n|no)(?:/\[?\w{1,20}\]?)?[\])]\s*[?:]?\s*\Z", re.IGNORECASE)
_APPROVAL: Final = re.compile(r"(?:\A|[.!:]\s+)\s*(?:allow|approve|permit|grant)\b[^?]{0,120}\?\s*\Z", re.IGNORECASE)
_SECRET: Final = re.compile(r"(?:\A|\s|\])(?:password|passphrase)\b[^:]{0,120}:\s*\Z", re.IGNORECASE)

_OPENCODE_REFUSED: Final = re.compile(rb"! (?:\x1b\[[0-9;]*m)*permission requested: (?P<what>\w+) .*; auto-rejecting")
_OPENCODE_KINDS: Final = {
    b"bash": EXECUTE,
    b"edit": WRITE,
    b"read": READ,
    b"external_directory": Access("tool", "file"),
}


class _Dialog(NamedTuple):
    """The last dialog of a screen: the lines above the answers, the answers, and the hints below."""

    above: list[str]
    answers: list[str]
    hints: list[str]


def terminal(agent: str | None, data: bytes) -> list[Observation]:
    """Find the prompt at which a terminal stands, and refusals that are still to be seen.

    Args:
        agent: whose terminal it is; of one that is not known only the generic prompts are recognised.
        data: its bytes, or the text of a captured pane.
    """
    lines = [line for line in visible_lines(data) if line.strip()]
    found = _NOTICES[agent](lines) if agent in _NOTICES else []
    prompt = _PROMPTS[agent](lines) if agent in _PROMPTS else None
    prompt = prompt or _generic(lines, 0)
    return [*found, prompt] if prompt is not None else found


def stderr(agent: str | None, data: bytes) -> list[Observation]:
    """Find refusals in a standard error, and the generic prompt at which it ends.

    Args:
        agent: whose standard error it is.
        data: its bytes; a last line without newline counts, since prompts have none.
    """
    found: list[Observation] = []
    pattern, told = _REFUSALS.get(agent or "", (None, None))
    if pattern is not None and told is not None:
        # A last line that is not whole yet waits: its digest would change.
        end = data.rfind(b"\n") + 1
        for match in pattern.finditer(data, 0, end):
            start = data.rfind(b"\n", 0, match.start()) + 1
            found.append(told(match["what"], data[start : data.index(b"\n", start)], start))
    stripped = data.rstrip()
    start = stripped.rfind(b"\n") + 1
    prompt = _generic(visible_lines(stripped[start:]), start)
    return [*found, prompt] if prompt is not None else found


def _claude(lines: list[str]) -> Observation | None:
    # Older versions draw a box around a dialog.
    unboxed = [line.strip("│┃").rstrip() for line in lines if not _BOX_END.match(line)]
    dialog = _numbered(unboxed, _CLAUDE_MARK, _CLAUDE_HINT)
    if dialog is None:
        return None
    begin = _last(dialog.above, _RULE)
    if begin is None:
        return None
    inside = dialog.above[begin + 1 :]
    near = inside[-_QUESTION_LINES:]
    question = _last(near, _CLAUDE_QUESTION)
    if question is not None:
        access = _first_access(_CLAUDE_TITLES, inside[0]) or _first_access(_CLAUDE_QUESTIONS, near[question])
        return _pending(access or INTERACTION, "claude-approval-prompt/v1", [*inside, *dialog.answers])
    return _pending(INTERACTION, "claude-choice-prompt/v1", [*inside, *dialog.answers]) if dialog.hints else None


def _codex(lines: list[str]) -> Observation | None:
    dialog = _numbered(lines, _CODEX_MARK, _CODEX_HINT)
    if dialog is None or not dialog.hints:
        return None
    above = dialog.above[-_DIALOG_LINES:]
    question = _last(above, _CODEX_QUESTION)
    if question is None:
        return _pending(INTERACTION, "codex-choice-prompt/v1", dialog.answers)
    access = _first_access(_CODEX_QUESTIONS, above[question]) or TOOL
    return _pending(access, "codex-approval-prompt/v1", [*above[question:], *dialog.answers])


def _pi(lines: list[str]) -> Observation | None:
    end = _last(lines, _RULE)
    if end is None or not 1 < end or len(lines) - end - 1 > _FOOTER_LINES or not _PI_HINT.match(lines[end - 1]):
        return None
    begin = _last(lines[: end - 1][-_DIALOG_LINES:], _RULE)
    if begin is None:
        return None
    dialog = lines[: end - 1][-_DIALOG_LINES:][begin + 1 :]
    is_choice = "navigate" in lines[end - 1]
    if is_choice and not any(_PI_CHOSEN.match(line) for line in dialog):
        return None
    return _pending(INTERACTION, "pi-dialog-prompt/v1", dialog)


def _numbered(lines: list[str], mark: str, hint: re.Pattern[str]) -> _Dialog | None:
    """Split off numbered answers, one of them marked, below which nothing but hints may stand."""
    end = len(lines)
    while end and len(lines) - end < _QUESTION_LINES and hint.match(lines[end - 1]):
        end -= 1
    begin, marked = end, 0
    numbers: list[int] = []
    while begin and end - begin < _DIALOG_LINES and 1 not in numbers:
        begin -= 1
        answer = _ANSWER.match(lines[begin])
        if answer is not None:
            numbers.append(int(answer["number"]))
            marked += (answer["mark"] or "").strip() == mark
        # A long answer goes on below itself; Claude Code sets its own last answer off from those of a question.
        elif not _CONTINUED.match(lines[begin]) and not (numbers and _RULE.match(lines[begin])):
            return None
    if len(numbers) < 2 or numbers != list(range(len(numbers), 0, -1)) or marked != 1:
        return None
    return _Dialog(lines[:begin], lines[begin:end], lines[end:])


def _generic(lines: list[str], position: int) -> Observation | None:
    if not lines:
        return None
    last = lines[-1].strip()
    for pattern, rule in (
        (_CONFIRMATION, "generic-confirmation/v1"),
        (_APPROVAL, "generic-approval-question/v1"),
        (_SECRET, "generic-secret-prompt/v1"),
    ):
        if pattern.search(last[-400:]):
            return observation(INTERACTION, "pending", rule, last, position)
    return None


def _codex_refusals(lines: list[str]) -> list[Observation]:
    # Only the program itself begins a line with this mark: prose and output of tools are set in.
    refused = ((_CODEX_REFUSED.match(line), line) for line in lines)
    return [
        observation(EXECUTE if match["what"] == "run" else TOOL, "denied", "codex-refusal-notice/v1", line, 0)
        for match, line in refused
        if match is not None
    ]


def _claude_refusals(lines: list[str]) -> list[Observation]:
    # The call above it makes it the program's own: these tools print no text of others at that place.
    return [
        observation(WRITE, "denied", "claude-refusal-notice/v1", f"{call}\n{told}", 0)
        for call, told in itertools.pairwise(lines)
        if _CLAUDE_REFUSED.match(told) and _CLAUDE_CHANGE.match(call)
    ]


def _codex_error(what: bytes, line: bytes, position: int) -> Observation:
    access = WRITE if what.startswith(b"patch") else EXECUTE
    return observation(access, "denied", "codex-rejection-log/v1", line, position)


def _opencode_error(what: bytes, line: bytes, position: int) -> Observation:
    return observation(_OPENCODE_KINDS.get(what, TOOL), "denied", "opencode-auto-rejection/v1", line, position)


def _pending(access: Access, rule: str, lines: Iterable[str]) -> Observation:
    # The marked answer changes while somebody looks for the right one: it is no other prompt.
    shown = "\n".join(" ".join(_MARK.sub("", line).split()) for line in lines)
    return observation(access, "pending", rule, shown, 0)


def _first_access(table: Iterable[tuple[re.Pattern[str], Access]], line: str) -> Access | None:
    return next((access for pattern, access in table if pattern.match(line)), None)


def _last(lines: list[str], pattern: re.Pattern[str]) -> int | None:
    return next((index for index in range(len(lines) - 1, -1, -1) if pattern.match(lines[index])), None)


_NOTICES: Final[dict[str | None, Callable[[list[str]], list[Observation]]]] = {
    "claude": _claude_refusals,
    "codex": _codex_refusals,
}
_PROMPTS: Final[dict[str | None, Callable[[list[str]], Observation | None]]] = {
    "claude": _claude,
    "codex": _codex,
    "pi": _pi,
}
_REFUSALS: Final = {"codex": (_CODEX_ERROR, _codex_error), "opencode": (_OPENCODE_REFUSED, _opencode_error)}
