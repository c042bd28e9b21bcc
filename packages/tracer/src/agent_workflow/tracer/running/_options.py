"""What a call asks for, read without a library: such a one takes longer to load than the command to start."""

AGENTS = ("auto", "pi", "claude_code", "codex", "gemini", "opencode")
DEFAULT_GRACE_SECONDS = 5.0

USAGE = f"""\
usage: python -m agent_workflow.tracer.running [OPTION]... -- COMMAND...

  --agent NAME      {", ".join(AGENTS)}; auto tells it by its stream
  --name TEXT       name of the session; the command's by default
  --request TEXT    what it is asked to do; the command line by default
  --db FILE         trace database; found from here when omitted
  --state-root DIR  publish evidence in this state root
  --grace SECONDS   to end by itself when told to stop, then it is killed ({DEFAULT_GRACE_SECONDS:g})
  --verbose         say on stderr where the session is kept
"""

_ALIASES = {"claude": "claude_code"}
_WITH_VALUE = ("--agent", "--name", "--request", "--db", "--grace", "--state-root")


class Options:
    """One call.

    Attributes:
        command: program and arguments.
        agent: one of ``AGENTS``.
        name: of the session, empty for the command's own.
        request: what it is asked to do, empty for the command line.
        db: trace database, empty for the one that is found.
        state_root: where evidence is published, empty for the usual place.
        grace_seconds: between being told to stop and being killed.
        is_verbose: whether the place of the session is told.
    """

    __slots__ = ("agent", "command", "db", "grace_seconds", "is_verbose", "name", "request", "state_root")

    def __init__(
        self,
        command: list[str],
        *,
        agent: str = "auto",
        name: str = "",
        request: str = "",
        db: str = "",
        state_root: str = "",
        grace_seconds: float = DEFAULT_GRACE_SECONDS,
        is_verbose: bool = False,
    ) -> None:
        """Take what was asked for.

        Raises:
            ValueError: there is no command, nobody knows the agent, or the grace is negative.
        """
        agent = _ALIASES.get(agent, agent)
        if not command or not command[0] or agent not in AGENTS or not 0 <= grace_seconds < 1e6:
            raise ValueError("not a call that can be run")
        self.command = command
        self.agent = agent
        self.name = name
        self.request = request
        self.db = db
        self.state_root = state_root
        self.grace_seconds = grace_seconds
        self.is_verbose = is_verbose


def parse(words: list[str]) -> Options | None:
    """Read the words behind ``run``; ``None`` for a call that is not understood, so that somebody else explains it.

    Args:
        words: options, then ``--`` or the first word that is none, then the command.
    """
    values: dict[str, str] = {}
    is_verbose = False
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if word == "--verbose":
            is_verbose = True
        elif name in _WITH_VALUE and (equals or rest):
            values[name] = value if equals else rest.pop(0)
        else:
            return None
    try:
        return Options(
            rest,
            agent=values.get("--agent", "auto"),
            name=values.get("--name", ""),
            request=values.get("--request", ""),
            db=values.get("--db", ""),
            state_root=values.get("--state-root", ""),
            grace_seconds=float(values.get("--grace", DEFAULT_GRACE_SECONDS)),
            is_verbose=is_verbose,
        )
    except ValueError:
        return None
