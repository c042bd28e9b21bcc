"""Health samples of a run: its two processes, the host, the channels, in the shape of ``run-health-sample/v1``."""

import contextlib
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil

from agent_workflow.cli.supervisor.channels import Channels
from agent_workflow.cli.supervisor.clock import stamp
from agent_workflow.cli.supervisor.documents import Document
from agent_workflow.cli.supervisor.process_table import Identity, ProcessTable, Seen
from agent_workflow.cli.supervisor.progress import Progress

SCHEMA = "agent-workflow/run-health-sample/v1"
_COLLECTOR = "psutil"


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One process of a run at one moment; what is unknown is None.

    Attributes:
        identity: what became of the recorded process.
        descriptor_limit: how many files it may have open; not part of the record.
    """

    pid: int | None
    identity: Identity
    seen: Seen | None = None
    peak_rss_bytes: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    open_fd_count: int | None = None
    descriptor_limit: int | None = None
    child_process_count: int | None = None

    @property
    def alive(self) -> bool | None:
        """Whether the recorded process runs; None where no pid is recorded."""
        return None if self.identity == "unknown" else self.identity == "same"

    def to_record(self) -> Document:
        """Return the part of the sample."""
        seen = self.seen if self.identity in ("same", "zombie") else None
        values = seen if self.identity == "same" else None
        return {
            "pid": self.pid,
            "alive": self.alive,
            "state": None if seen is None else seen.state,
            "parent_pid": None if seen is None else seen.parent,
            "process_start_ticks": None if seen is None else seen.start_ticks,
            "cpu_user_seconds": None if values is None else values.cpu_user,
            "cpu_system_seconds": None if values is None else values.cpu_system,
            "rss_bytes": None if values is None else values.rss_bytes,
            "peak_rss_bytes": self.peak_rss_bytes,
            "threads": None if values is None else values.threads,
            "read_bytes": self.read_bytes,
            "write_bytes": self.write_bytes,
            "open_fd_count": self.open_fd_count,
            "child_process_count": self.child_process_count,
            "collector": None if self.pid is None else _COLLECTOR,
        }


@dataclass(frozen=True, slots=True)
class HostSample:
    """The host at one moment; the disk is the one of the state root."""

    load: tuple[float, float, float] | None
    available_memory_bytes: int | None
    disk_free_bytes: int | None
    disk_total_bytes: int | None

    def to_record(self) -> Document:
        """Return the part of the sample."""
        loads = [round(value, 4) for value in self.load] if self.load else [None, None, None]
        return {
            "load_1m": loads[0],
            "load_5m": loads[1],
            "load_15m": loads[2],
            "available_memory_bytes": self.available_memory_bytes,
            "disk_free_bytes": self.disk_free_bytes,
            "disk_total_bytes": self.disk_total_bytes,
        }


def sample_host(state_root: Path) -> HostSample:
    """Look at the host once a cycle."""
    try:
        load: tuple[float, float, float] | None = os.getloadavg()
    except OSError:
        load = None
    try:
        disk = psutil.disk_usage(str(state_root))
        free: int | None = disk.free
        total: int | None = disk.total
    except OSError:
        free = total = None
    try:
        memory: int | None = psutil.virtual_memory().available
    except (OSError, psutil.Error):
        memory = None
    return HostSample(load, memory, free, total)


def sample_process(pid: int | None, identity: Identity, table: ProcessTable) -> ProcessSample:
    """Look closer at one process of a run.

    Args:
        pid: as recorded.
        identity: what became of it.
        table: this cycle's pass.
    """
    seen = None if pid is None else table.find(pid)
    if identity != "same" or seen is None:
        return ProcessSample(pid, identity, seen)
    # Without a parent nothing of it could be seen; then its children are not known either.
    children = None if seen.parent is None else len(table.children(seen.pid))
    read, written, descriptors = _usage(seen.pid)
    return ProcessSample(
        pid,
        identity,
        seen,
        peak_rss_bytes=_peak_rss(seen.pid),
        read_bytes=read,
        write_bytes=written,
        open_fd_count=descriptors,
        descriptor_limit=_descriptor_limit(seen.pid),
        child_process_count=children,
    )


def sample_record(
    session_id: str,
    recorded_at: datetime,
    runner: ProcessSample,
    executor: ProcessSample,
    host: HostSample,
    channels: Channels,
    progress: Progress,
    pane: str | None,
) -> Document:
    """Put a sample together as it stands in the journal."""
    return {
        "schema": SCHEMA,
        "session_id": session_id,
        "recorded_at": stamp(recorded_at),
        "runner": runner.to_record(),
        "executor": executor.to_record(),
        "host": host.to_record(),
        "tmux_pane_id": pane,
        "pane_dead": None,
        "output_bytes": channels.size("output"),
        "stderr_bytes": channels.size("stderr"),
        "executor_event_bytes": channels.size("executor_event"),
        "terminal_event_bytes": channels.size("terminal_event"),
        "last_semantic_progress_at": None if progress.at is None else stamp(progress.at),
        "seconds_since_semantic_progress": None if progress.seconds is None else round(progress.seconds, 3),
        "last_semantic_progress_source": progress.source,
    }


def _usage(pid: int) -> tuple[int | None, int | None, int | None]:
    """Return bytes read and written and open descriptors, None for what we may not see."""
    read = written = descriptors = None
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None, None, None
    with contextlib.suppress(psutil.Error, AttributeError, OSError):  # macOS has no such counters
        counters = process.io_counters()
        read, written = counters.read_bytes, counters.write_bytes
    with contextlib.suppress(psutil.Error, OSError):
        descriptors = process.num_fds()
    return read, written, descriptors


def _peak_rss(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123 - hundreds of times a cycle
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _descriptor_limit(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:  # noqa: PTH123 - hundreds of times a cycle
            for line in file:
                if line.startswith(b"Max open files"):
                    soft = line.split()[3]
                    return None if soft == b"unlimited" else int(soft)
    except (OSError, ValueError, IndexError):
        return None
    return None
