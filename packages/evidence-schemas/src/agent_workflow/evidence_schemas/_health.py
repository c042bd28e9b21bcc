"""Samples of a live run: its processes, its host and how its work moves on."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, Shape
from agent_workflow.evidence_schemas._scalars import Int64, Max64, Max128, Natural, Number, Positive, Text64, Text128

ProgressSource = Literal[
    "output",
    "stderr",
    "executor_event",
    "terminal_event",
    "message",
    "control_intent",
    "steering_delivery",
    "completion",
]


class ProcessSample(Shape, extra="forbid"):
    """One process as the host's process table showed it; what could not be read is ``None``."""

    pid: Positive | None
    alive: bool | None
    state: Annotated[str, Field(max_length=8)] | None
    parent_pid: Natural | None
    process_start_ticks: Natural | None
    cpu_user_seconds: Number | None
    cpu_system_seconds: Number | None
    rss_bytes: Natural | None
    peak_rss_bytes: Natural | None
    threads: Natural | None
    read_bytes: Natural | None
    write_bytes: Natural | None
    open_fd_count: Natural | None
    child_process_count: Natural | None
    collector: Max64 | None


class HostSample(Shape, extra="forbid"):
    """Load, memory and disk of the host."""

    load_1m: Number | None
    load_5m: Number | None
    load_15m: Number | None
    available_memory_bytes: Natural | None
    disk_free_bytes: Natural | None
    disk_total_bytes: Natural | None


class RunHealthSample(Record, extra="forbid"):
    """One line of ``run-health-samples.jsonl``. Only core constraints: this is the record an index reads most."""

    schema_: Literal["agent-workflow/run-health-sample/v1"] = Field(alias="schema")
    session_id: Text128
    recorded_at: Text64
    runner: ProcessSample
    executor: ProcessSample
    host: HostSample
    tmux_pane_id: Max128 | None
    pane_dead: bool | None
    output_bytes: Natural | None
    stderr_bytes: Natural | None
    executor_event_bytes: Natural | None
    terminal_event_bytes: Natural | None
    last_semantic_progress_at: Max64 | None
    seconds_since_semantic_progress: Number | None
    last_semantic_progress_source: ProgressSource | None


class Heartbeat(Record):
    """``heartbeat.json``: a sign of life of the runner, which is not a sign of progress."""

    schema_: Literal["agent-workflow/heartbeat/v2"] = Field(alias="schema")
    at: str | None = None
    executor_pid: Int64 | None = None
    runner_pid: Int64 | None = None
