# ruff: noqa: RUF001 - the marks that the programs draw look like others
"""Screens of agents at their dialogs, in the shapes that the real programs draw, and terminals that draw them."""

from collections.abc import Callable
from unicodedata import east_asian_width

CLAUDE_MARK = "❯"
CODEX_MARK = "›"
WIDE = "─" * 60
CLAUDE_FOOT = f"{WIDE}\n❯ \n{WIDE}\n  ? for shortcuts"
CODEX_FOOT = "› Ask Codex to do anything\n\n  GPT-5.5 medium · /home/dev/repo\n  ? for shortcuts"
PI_FOOT = f"{WIDE}\n\n{WIDE}\n/home/dev/repo\n↑10 ↓5 $0.000 0.0%/128k (auto)                 scripted"

CLAUDE_COMMAND = f"""❯ Tidy up

● I will do that.

● Bash(make tidy)
  ⎿  Waiting…

{WIDE}
 Bash command

   make tidy
   Tidy the tree

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for make tidy commands in /home/dev/repo
   3. No

 Esc to cancel · Tab to amend · ctrl+e to explain"""

CLAUDE_CREATE = f"""● Write(notes.md)

{WIDE}
 Create file
 notes.md
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  1 # Notes
  2 Do you want to proceed?
  3 1. Yes
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Do you want to create notes.md?
   1. Yes
 ❯ 2. Yes, allow all edits during this session (shift+tab)
   3. No

 Esc to cancel · Tab to amend"""

CLAUDE_FETCH = f"""● Fetch(https://example.org/)

{WIDE}
 Fetch

   https://example.org/
   Claude wants to fetch content from example.org

 Do you want to allow Claude to fetch this content?
 ❯ 1. Yes
   2. Yes, and don't ask again for example.org
   3. No, and tell Claude what to do differently (esc)
"""

CLAUDE_TRUST = f"""{WIDE}
 Accessing workspace:

 /home/dev/repo

 Is this a project that you trust?

 ❯ 1. Yes, I trust this folder
   2. No, exit

 Enter to confirm · Esc to cancel
"""

CLAUDE_BOXED = """● Bash(make tidy)

╭──────────────────────────────────────────────────────────╮
│ Bash command                                             │
│                                                          │
│   make tidy                                              │
│                                                          │
│ Do you want to proceed?                                  │
│ ❯ 1. Yes                                                 │
│   2. No, and tell Claude what to do differently (esc)    │
╰──────────────────────────────────────────────────────────╯
"""

CLAUDE_QUESTION = f"""● A question.

{WIDE}
 ☐ Storage

Where should it be kept?

❯ 1. In a file
     One for each run
  2. In a database
     One for all
  3. Type something.
{WIDE}
  4. Chat about this

Enter to select · ↑/↓ to navigate · Esc to cancel"""

CLAUDE_PLAN = f"""● Plan.

{WIDE}
 Exit plan mode?

  Claude wants to exit plan mode

  ❯ 1. Yes
    2. No
"""

CLAUDE_WRAPPED = f"""{WIDE}
 Edit file
 a/rather/long/name.md

 Do you want to make this edit to
 a/rather/long/name.md?
 ❯ 1. Yes
   2. Yes, allow all edits during
     this session (shift+tab)
   3. No

 Esc to cancel"""

CODEX_COMMAND = """› Tidy up

• I will do that.

• Running make tidy

  Would you like to run the following command?

  Reason: The tree is untidy

  $ make tidy && \\
    make check

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for commands that start with `make tidy` (p)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel"""

CODEX_EDITS = """• Added /srv/notes.md (+1 -0)
    1 +hello

  Would you like to make the following edits?

  Destination: /srv/notes.md

  1. Yes, proceed (y)
› 2. Yes, and don't ask again for these files (a)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel"""

CODEX_OTHER = """  Choose how to go on

› 1. Restart
  2. Leave

  Press enter to confirm or esc to cancel"""

PI_SELECT = f""" Tidy up

 $ make tidy

{WIDE}

 A command that deletes:

   make tidy

 Allow?

 → Yes
   No

 ↑↓ navigate  enter select  escape/ctrl+c cancel

{WIDE}
/home/dev/repo
↑10 ↓5 $0.000 0.0%/128k (auto)                 scripted"""

PI_INPUT = f"""{WIDE}

 Name the branch

 >

 enter submit  escape/ctrl+c cancel

{WIDE}
/home/dev/repo
↑10 ↓5 $0.000 0.0%/128k (auto)                 scripted"""


_ASKED = f"{WIDE}\n Do you want to proceed?\n"
NO_DIALOGS: dict[str, tuple[str | None, str]] = {
    "prose of Claude": ("claude", f"● Do you want to proceed?\n  ❯ 1. Yes\n    2. No\n\n{CLAUDE_FOOT}"),
    "prose in print mode": ("claude", "Do you want to proceed?\n❯ 1. Yes\n  2. No"),
    "nothing is marked": ("claude", f"{_ASKED} 1. Yes\n 2. No"),
    "a single answer": ("claude", f"{_ASKED} ❯ 1. Yes"),
    "numbers with a gap": ("claude", f"{_ASKED} ❯ 1. Yes\n   3. No"),
    "two marks": ("claude", f"{_ASKED} ❯ 1. Yes\n ❯ 2. No"),
    "rules without answers": ("claude", f"{_ASKED} ❯ 1. Yes\n{WIDE}\n{WIDE}"),
    "a word below": ("claude", f"{_ASKED} ❯ 1. Yes\n   2. No\n Running…"),
    "prose of Codex": ("codex", f"• Would you like to run it?\n\n› 1. Yes\n  2. No\n\n{CODEX_FOOT}"),
    "no hint of Codex": ("codex", "  Would you like to run the following command?\n› 1. Yes\n  2. No"),
    "prose of pi": ("pi", f" Allow?\n → Yes\n   No\n All done.\n{PI_FOOT}"),
    "no hint of pi": ("pi", f"{WIDE}\n Allow?\n → Yes\n   No\n{WIDE}\n/home/dev/repo"),
    "a diff": ("pi", f"+ Proceed? [y/N]\n{PI_FOOT}"),
    "asked and answered": (None, "The script asks: Proceed? [y/N]\nI answered y."),
    "an answer that was typed": (None, "Proceed? [y/N] y"),
    "code": (None, 'prompt = "Proceed? [y/N]"'),
    "a question": (None, "Should I go on?"),
    "a password that was told": (None, "The password: hunter2"),
    "allow inside of a sentence": (None, "Which ports does the firewall allow?"),
    "nothing": (None, ""),
}
"""What must not be taken for a dialog: whose terminal it is, and its text."""


def with_moves(text: str) -> bytes:
    """Draw as Claude Code does: words set by column, lines by moves from where the cursor is, the whole drawn twice."""
    lines = text.split("\n")
    up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
    drawn = "\r\n".join(f"\x1b[2K{_words(line)}" for line in lines)
    return f"\x1b[?25l{drawn}\r{up}{drawn}\x1b[?25h".encode()


def with_addresses(text: str, height: int = 50) -> bytes:
    """Draw as Codex and pi do: every line by its row at the bottom of the screen, over an older content."""
    lines = text.split("\n")
    first = height - len(lines) + 1
    old = "".join(f"\x1b[{row};1Hold content of row {row}" for row in range(1, height + 1))
    new = "".join(f"\x1b[{first + index};1H\x1b[1m\x1b[38;5;12m{line}\x1b[0m\x1b[K" for index, line in enumerate(lines))
    return f"\x1b[?2026h{old}\x1b[2J{new}\x1b[?2026l".encode()


def _words(line: str) -> str:
    drawn, column = [], 0
    for word in line.split(" "):
        if word:
            drawn.append(f"\x1b[{column + 1}G\x1b[36m{word}\x1b[39m")
        column += _width(word) + 1
    return "".join(drawn)


def _width(word: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in word)


DRAWINGS: dict[str, Callable[[str], bytes]] = {
    "captured": str.encode,
    "moves": with_moves,
    "addresses": with_addresses,
}
