"""``sssf.config.yaml``: read forgivingly, judged later, so that a bad one still leaves a session that says so."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_workflow.tracer._files import DEFAULT_DATA_DIR, DEFAULT_DB

if TYPE_CHECKING:
    from agent_workflow.tracer._config_yaml import ConfigYaml

THINKING_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One agent of the roster, defaults filled in.

    Attributes:
        name: what phases call it (their ``owner``).
        coding_agent: which program does the work.
        model: ``provider/id``.
        tools: names, ``None`` for all.
        writes: patterns of files it may write, ``None`` for unrestricted, empty for read-only.
        protected_files: patterns of files it may never write.
        system, user: files with the prompts, ``None`` for none.
    """

    name: str
    coding_agent: str = "pi"
    model: str = ""
    thinking: str | None = None
    color: str | None = None
    purpose: str = ""
    tools: tuple[str, ...] | None = None
    harness_engineering: tuple[str, ...] = ()
    writes: tuple[str, ...] | None = None
    protected_files: tuple[str, ...] = ()
    system: Path | None = None
    user: Path | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration as it was found.

    Attributes:
        path: the file.
        root: the repository's folder; relative paths start there.
        problems: why it cannot be used, each a sentence; ``ensure`` raises them once the session exists.
        notices: what was not understood and is left out, each a sentence.
        lines: the line, from 1, of each key and list item by its place, for example ``agents[planner].tools``.
        tests: command of the gate ``tests_pass``, ``None`` when there is none.
        redact_environment: whether values of secret-looking environment variables are replaced.
        redact_patterns: regular expressions whose matches are replaced.
        publish: whether runs become evidence; not when the file, or its word on that, cannot be understood.
        state_root: where, if not in the usual place.
    """

    path: Path
    root: Path
    db: Path
    data_dir: Path
    poll_ms: int = 500
    agents: Mapping[str, AgentConfig] = field(default_factory=dict)
    tests: tuple[str, ...] | None = None
    redact_environment: bool = True
    redact_patterns: tuple[str, ...] = ()
    publish: bool = True
    state_root: Path | None = None
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)


def load_config(path: Path | str) -> Config:
    """Read a configuration. Never raises: what is wrong is in ``problems``.

    Args:
        path: usually ``adws/sssf.config.yaml``.
    """
    from agent_workflow.tracer._config_yaml import read_config_yaml

    file = Path(path).absolute()
    root = _root_of(file)
    written = read_config_yaml(file)
    found = _Findings(written)
    document = found.mapping(written.value, str(path))
    is_readable = not found.problems
    _known(document, {"defaults", "observability", "agents", "redaction", "evidence", "tests"}, "", found)
    defaults = found.mapping(document.get("defaults"), "defaults")
    _known(defaults, {*_AGENT_KEYS, "data_dir"}, "defaults.", found)
    watch = found.mapping(document.get("observability"), "observability")
    _known(watch, {"db", "poll_ms"}, "observability.", found)
    redaction = found.mapping(document.get("redaction"), "redaction")
    _known(redaction, {"environment", "patterns"}, "redaction.", found)
    publish, state_root = _evidence(document.get("evidence"), root, found)
    return Config(
        path=file,
        root=root,
        db=_below(root, found.text(watch.get("db"), "observability.db") or DEFAULT_DB),
        data_dir=_below(root, found.text(defaults.get("data_dir"), "defaults.data_dir") or DEFAULT_DATA_DIR),
        poll_ms=found.whole(watch.get("poll_ms"), "observability.poll_ms", 500),
        agents=_roster(document.get("agents"), defaults, root, found),
        tests=found.texts(document.get("tests"), "tests"),
        redact_environment=found.flag(redaction.get("environment"), "redaction.environment", True),
        redact_patterns=_patterns(redaction.get("patterns"), found),
        publish=publish and is_readable,
        state_root=state_root,
        problems=tuple(found.problems),
        notices=tuple(found.notices),
        lines=written.lines,
    )


def _evidence(value: object, root: Path, found: "_Findings") -> tuple[bool, Path | None]:
    """Read whether and where to publish. Where that cannot be understood, nothing is published: it may say no."""
    before = len(found.problems)
    evidence = found.mapping(value, "evidence")
    _known(evidence, {"publish", "state_root"}, "evidence.", found)
    publish = found.flag(evidence.get("publish"), "evidence.publish", True)
    state_root = found.text(evidence.get("state_root"), "evidence.state_root")
    folder: Path | None = None
    if state_root:
        try:
            folder = root / Path(state_root).expanduser()
        except RuntimeError as error:  # of a user whom nobody knows
            found.wrong("evidence.state_root", f"evidence.state_root: {error}")
    return publish and len(found.problems) == before, folder


_AGENT_KEYS: Final = frozenset(
    {"coding_agent", "model", "thinking", "color", "tools", "harness_engineering", "writes", "protected_files"}
)


class _Findings:
    """Reads values of expected types and notes what is wrong, with the line."""

    def __init__(self, written: "ConfigYaml") -> None:
        self.lines = written.lines
        self.problems = [written.problem] if written.problem else []
        self.notices = [*written.repeated]

    def wrong(self, where: str, sentence: str) -> None:
        """Note what keeps the configuration from being used, once."""
        if (told := self._at(where, sentence)) not in self.problems:
            self.problems.append(told)

    def unknown(self, where: str, known: Collection[str]) -> None:
        """Note a key that is left out, with those that are known in its place."""
        self.notices.append(self._at(where, f"unknown key {where} (known: {', '.join(sorted(known))})"))

    def _at(self, where: str, sentence: str) -> str:
        line = self.lines.get(where)
        return sentence if line is None else f"line {line}: {sentence}"

    def mapping(self, value: object, where: str) -> dict[str, Any]:
        if value is None:
            return {}
        if isinstance(value, dict):
            return {str(key): item for key, item in value.items()}
        self.wrong(where, f"{where} must be a mapping")
        return {}

    def text(self, value: object, where: str) -> str | None:
        if value is None or isinstance(value, str):
            return value
        self.wrong(where, f"{where} must be text")
        return None

    def texts(self, value: object, where: str) -> tuple[str, ...] | None:
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.wrong(where, f"{where} must be a list of texts")
        return None

    def whole(self, value: object, where: str, default: int) -> int:
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        self.wrong(where, f"{where} must be a whole number above 0")
        return default

    def flag(self, value: object, where: str, default: bool) -> bool:
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.wrong(where, f"{where} must be true or false")
        return default


def _known(mapping: Mapping[str, Any], keys: Collection[str], prefix: str, found: _Findings) -> None:
    for key in (key for key in mapping if key not in keys):
        found.unknown(f"{prefix}{key}", keys)


def _roster(value: object, defaults: dict[str, Any], root: Path, found: _Findings) -> dict[str, AgentConfig]:
    roster: dict[str, AgentConfig] = {}
    if value is None:
        return roster
    if not isinstance(value, list):
        found.wrong("agents", "agents must be a list")
        return roster
    for number, entry in enumerate(value):
        where = f"agents[{number}]"
        mapping = found.mapping(entry, where)
        name = found.text(mapping.get("name"), f"{where}.name")
        if not name:
            found.wrong(where, f"{where} has no name")
        elif name in roster:
            found.wrong(where, f"{where}: there is another agent named {name}")
        elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name) or name == "context_handoff":
            found.wrong(where, f"{where}: {name!r} cannot name an agent, its files are kept in a folder of that name")
        else:
            roster[name] = _agent(name, mapping, defaults, root, found)
    return roster


def _agent(name: str, own: dict[str, Any], defaults: dict[str, Any], root: Path, found: _Findings) -> AgentConfig:
    where = f"agents[{name}]."
    _known(own, {*_AGENT_KEYS, "name", "purpose", "prompt_engineering"}, where, found)
    merged = {**{key: defaults[key] for key in _AGENT_KEYS if key in defaults}, **own}

    def place(key: str) -> str:
        return f"defaults.{key}" if key in defaults and key not in own else where + key

    def text(key: str) -> str | None:
        return found.text(merged.get(key), place(key))

    def texts(key: str) -> tuple[str, ...] | None:
        return found.texts(merged.get(key), place(key))

    thinking = merged.get("thinking")
    thinking = "off" if thinking is False else thinking  # YAML reads a bare off as false
    if thinking is not None and thinking not in THINKING_LEVELS:
        found.wrong(place("thinking"), f"{place('thinking')} must be one of {', '.join(THINKING_LEVELS)}")
        thinking = None
    prompts = found.mapping(own.get("prompt_engineering"), where + "prompt_engineering")
    _known(prompts, {"system", "user"}, where + "prompt_engineering.", found)
    return AgentConfig(
        name=name,
        coding_agent=text("coding_agent") or "pi",
        model=text("model") or "",
        thinking=thinking,
        color=text("color"),
        purpose=found.text(own.get("purpose"), where + "purpose") or "",
        tools=texts("tools"),
        harness_engineering=texts("harness_engineering") or (),
        writes=texts("writes"),
        protected_files=texts("protected_files") or (),
        system=_prompt(prompts, "system", where + "prompt_engineering.system", root, found),
        user=_prompt(prompts, "user", where + "prompt_engineering.user", root, found),
    )


def _prompt(prompts: Mapping[str, Any], kind: str, where: str, root: Path, found: _Findings) -> Path | None:
    name = found.text(prompts.get(kind), where)
    if not name:
        return None
    if not os.path.isfile(root / name):  # noqa: PTH113 - the other raises for a name that is too long
        found.wrong(where, f"{where}: there is no file {name}")
    return root / name


def _patterns(value: object, found: _Findings) -> tuple[str, ...]:
    patterns = found.texts(value, "redaction.patterns") or ()
    good = []
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            found.wrong("redaction.patterns", f"redaction.patterns: {pattern!r}: {error}")
        else:
            good.append(pattern)
    return tuple(good)


def _below(root: Path, text: str) -> Path:
    """Return a path of the configuration without ``..``: it is compared with others."""
    return Path(os.path.normpath(root / text))


def _root_of(file: Path) -> Path:
    for folder in file.parents:
        if (folder / ".git").exists():
            return folder
    return file.parent.parent if file.parent.name == "adws" else file.parent
