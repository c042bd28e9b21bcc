"""Where each coding agent keeps what is the user's, unless its own environment variable moves it."""

import os
from collections.abc import Mapping
from pathlib import Path


def claude_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return Claude Code's folder."""
    return _moved(environment, "CLAUDE_CONFIG_DIR") or _home(environment) / ".claude"


def codex_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return Codex's folder."""
    return _moved(environment, "CODEX_HOME") or _home(environment) / ".codex"


def gemini_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return gemini-cli's folder."""
    return (_moved(environment, "GEMINI_CLI_HOME") or _home(environment)) / ".gemini"


def opencode_database(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the database in which opencode keeps its sessions."""
    data = _moved(environment, "XDG_DATA_HOME") or _home(environment) / ".local" / "share"
    return data / "opencode" / (environment.get("OPENCODE_DB") or "opencode.db")


def pi_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return pi's folder."""
    return _moved(environment, "PI_CODING_AGENT_DIR") or _home(environment) / ".pi" / "agent"


def _moved(environment: Mapping[str, str], variable: str) -> Path | None:
    given = environment.get(variable)
    return Path(given) if given else None


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())
