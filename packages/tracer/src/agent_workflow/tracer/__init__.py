"""Records workflows of agents and code while they run: files that are the truth, and a database that mirrors them."""

import sys

TYPE_CHECKING = False  # typing takes longer to load than a command that is recorded to start
if TYPE_CHECKING:
    from typing import Any

    from agent_workflow.tracer._archiving import set_archived
    from agent_workflow.tracer._clock import age_seconds, parse_time
    from agent_workflow.tracer._config import AgentConfig, Config, load_config
    from agent_workflow.tracer._ending import Ended
    from agent_workflow.tracer._ensure import ensure
    from agent_workflow.tracer._envelopes import (
        BuildOutput,
        DocumentOutput,
        EnvelopeBase,
        GenericOutput,
        PlanOutput,
        ReviewOutput,
        ScoutOutput,
    )
    from agent_workflow.tracer._errors import (
        AgentError,
        AgentFailed,
        ConfigError,
        GateRaised,
        GatesFailed,
        InvalidReply,
        MissingColumn,
        NoSuchSession,
        NotATrace,
        NoTrace,
        PermissionBreach,
        ProviderError,
        StillRunning,
        TraceReadError,
        TracerError,
        TraceWriteFailed,
        WorkflowError,
    )
    from agent_workflow.tracer._gates import (
        Check,
        Gate,
        GateContext,
        GateReport,
        artifacts_exist,
        diff_matches_claims,
        files_non_empty,
        json_parses,
        tests_pass,
        verdict_consistent,
    )
    from agent_workflow.tracer._identity import RecordedProcess
    from agent_workflow.tracer._killing import KillReport, kill_session
    from agent_workflow.tracer._liveness import ProcessRow
    from agent_workflow.tracer._locate import locate_config, locate_data_dir, locate_database
    from agent_workflow.tracer._params import AgentCall, PhaseParams
    from agent_workflow.tracer._phase import Phase
    from agent_workflow.tracer._processes import hold_process
    from agent_workflow.tracer._reader import EventPage, TraceReader
    from agent_workflow.tracer._rebuild import RebuildReport, rebuild
    from agent_workflow.tracer._run import Run
    from agent_workflow.tracer._tracer import Tracer

_HOMES = {
    "_archiving": ("set_archived",),
    "_clock": ("age_seconds", "parse_time"),
    "_config": ("AgentConfig", "Config", "load_config"),
    "_ending": ("Ended",),
    "_ensure": ("ensure",),
    "_envelopes": (
        "BuildOutput",
        "DocumentOutput",
        "EnvelopeBase",
        "GenericOutput",
        "PlanOutput",
        "ReviewOutput",
        "ScoutOutput",
    ),
    "_errors": (
        "AgentError",
        "AgentFailed",
        "ConfigError",
        "GateRaised",
        "GatesFailed",
        "InvalidReply",
        "MissingColumn",
        "NoSuchSession",
        "NotATrace",
        "NoTrace",
        "PermissionBreach",
        "ProviderError",
        "StillRunning",
        "TraceReadError",
        "TracerError",
        "TraceWriteFailed",
        "WorkflowError",
    ),
    "_gates": (
        "Check",
        "Gate",
        "GateContext",
        "GateReport",
        "artifacts_exist",
        "diff_matches_claims",
        "files_non_empty",
        "json_parses",
        "tests_pass",
        "verdict_consistent",
    ),
    "_identity": ("RecordedProcess",),
    "_killing": ("KillReport", "kill_session"),
    "_liveness": ("ProcessRow",),
    "_locate": ("locate_config", "locate_data_dir", "locate_database"),
    "_params": ("AgentCall", "PhaseParams"),
    "_phase": ("Phase",),
    "_processes": ("hold_process",),
    "_reader": ("EventPage", "TraceReader"),
    "_rebuild": ("RebuildReport", "rebuild"),
    "_run": ("Run",),
    "_tracer": ("Tracer",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AgentCall",
    "AgentConfig",
    "AgentError",
    "AgentFailed",
    "BuildOutput",
    "Check",
    "Config",
    "ConfigError",
    "DocumentOutput",
    "Ended",
    "EnvelopeBase",
    "EventPage",
    "Gate",
    "GateContext",
    "GateRaised",
    "GateReport",
    "GatesFailed",
    "GenericOutput",
    "InvalidReply",
    "KillReport",
    "MissingColumn",
    "NoSuchSession",
    "NoTrace",
    "NotATrace",
    "PermissionBreach",
    "Phase",
    "PhaseParams",
    "PlanOutput",
    "ProcessRow",
    "ProviderError",
    "RebuildReport",
    "RecordedProcess",
    "ReviewOutput",
    "Run",
    "ScoutOutput",
    "StillRunning",
    "TraceReadError",
    "TraceReader",
    "TraceWriteFailed",
    "Tracer",
    "TracerError",
    "WorkflowError",
    "age_seconds",
    "artifacts_exist",
    "diff_matches_claims",
    "ensure",
    "files_non_empty",
    "hold_process",
    "json_parses",
    "kill_session",
    "load_config",
    "locate_config",
    "locate_data_dir",
    "locate_database",
    "parse_time",
    "rebuild",
    "set_archived",
    "tests_pass",
    "verdict_consistent",
]


def __getattr__(name: str) -> "Any":  # noqa: ANN401 - a module attribute may be of any type
    if sys.platform == "win32":
        raise ImportError("agent_workflow.tracer runs on Linux and macOS, not on Windows")
    # Each name brings what it needs when it is first used: a code-only workflow never loads pydantic.
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
