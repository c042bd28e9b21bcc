"""``sssf.config.yaml``: read forgivingly, judged later, so that a bad one still leaves a session that says so."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._files import DEFAULT_DATA_DIR, DEFAULT_DB

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


def load_config(path: Path | str) -> Config:
    """Read a configuration. Never raises: what is wrong is in ``problems``.

    Args:
        path: usually ``adws/sssf.config.yaml``.
    """
    file = Path(path).absolute()
    root = _root_of(file)
    found = _Findings()
    document = found.mapping(_read_yaml(file, found), str(path))
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
            found.problems.append(f"evidence.state_root: {error}")
    return publish and len(found.problems) == before, folder


_AGENT_KEYS: Final = frozenset(
    {"coding_agent", "model", "thinking", "color", "tools", "harness_engineering", "writes", "protected_files"}
)


class _Findings:
    """Reads values of expected types and notes what is wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.notices: list[str] = []

    def mapping(self, value: object, where: str) -> dict[str, Any]:
        if value is None:
            return {}
        if isinstance(value, dict):
            return {str(key): item for key, item in value.items()}
        self.problems.append(f"{where} must be a mapping")
        return {}

    def text(self, value: object, where: str) -> str | None:
        if value is None or isinstance(value, str):
            return value
        self.problems.append(f"{where} must be text")
        return None

    def texts(self, value: object, where: str) -> tuple[str, ...] | None:
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.problems.append(f"{where} must be a list of texts")
        return None

    def whole(self, value: object, where: str, default: int) -> int:
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        self.problems.append(f"{where} must be a whole number above 0")
        return default

    def flag(self, value: object, where: str, default: bool) -> bool:
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.problems.append(f"{where} must be true or false")
        return default


def _read_yaml(file: Path, found: _Findings) -> object:
    import yaml  # takes longer to import than the rest of the tracer

    try:
        return yaml.safe_load(file.read_bytes())
    except OSError as error:
        found.problems.append(f"{file}: cannot be read: {error.strerror}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        found.problems.append(f"{file}: {' '.join(str(error).split())}")
    return None


def _known(mapping: Mapping[str, Any], keys: set[str], prefix: str, found: _Findings) -> None:
    found.notices.extend(f"unknown key {prefix}{key}" for key in mapping if key not in keys)


def _roster(value: object, defaults: dict[str, Any], root: Path, found: _Findings) -> dict[str, AgentConfig]:
    roster: dict[str, AgentConfig] = {}
    if value is None:
        return roster
    if not isinstance(value, list):
        found.problems.append("agents must be a list")
        return roster
    for number, entry in enumerate(value):
        where = f"agents[{number}]"
        mapping = found.mapping(entry, where)
        name = found.text(mapping.get("name"), f"{where}.name")
        if not name:
            found.problems.append(f"{where} has no name")
        elif name in roster:
            found.problems.append(f"{where}: there is another agent named {name}")
        elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name) or name == "context_handoff":
            found.problems.append(
                f"{where}: {name!r} cannot name an agent, its files are kept in a folder of that name"
            )
        else:
            roster[name] = _agent(name, mapping, defaults, root, found)
    return roster


def _agent(name: str, own: dict[str, Any], defaults: dict[str, Any], root: Path, found: _Findings) -> AgentConfig:
    where = f"agents[{name}]."
    _known(own, {*_AGENT_KEYS, "name", "purpose", "prompt_engineering"}, where, found)
    merged = {**{key: defaults[key] for key in _AGENT_KEYS if key in defaults}, **own}
    prompts = found.mapping(own.get("prompt_engineering"), where + "prompt_engineering")
    _known(prompts, {"system", "user"}, where + "prompt_engineering.", found)
    files: dict[str, Path | None] = {}
    for kind in ("system", "user"):
        text = found.text(prompts.get(kind), f"{where}prompt_engineering.{kind}")
        files[kind] = root / text if text else None
        if text and not (root / text).is_file():
            found.problems.append(f"{where}prompt_engineering.{kind}: there is no file {text}")
    thinking = merged.get("thinking")
    thinking = "off" if thinking is False else thinking  # YAML reads a bare off as false
    if thinking is not None and thinking not in THINKING_LEVELS:
        found.problems.append(f"{where}thinking must be one of {', '.join(THINKING_LEVELS)}")
        thinking = None
    return AgentConfig(
        name=name,
        coding_agent=found.text(merged.get("coding_agent"), where + "coding_agent") or "pi",
        model=found.text(merged.get("model"), where + "model") or "",
        thinking=thinking,
        color=found.text(merged.get("color"), where + "color"),
        purpose=found.text(own.get("purpose"), where + "purpose") or "",
        tools=found.texts(merged.get("tools"), where + "tools"),
        harness_engineering=found.texts(merged.get("harness_engineering"), where + "harness_engineering") or (),
        writes=found.texts(merged.get("writes"), where + "writes"),
        protected_files=found.texts(merged.get("protected_files"), where + "protected_files") or (),
        system=files["system"],
        user=files["user"],
    )


def _patterns(value: object, found: _Findings) -> tuple[str, ...]:
    patterns = found.texts(value, "redaction.patterns") or ()
    good = []
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            found.problems.append(f"redaction.patterns: {pattern!r}: {error}")
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
