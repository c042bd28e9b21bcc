"""What the supervisor may do, and from when on it calls something by a name."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """The thresholds and permissions of a supervisor.

    Attributes:
        sessions: only these runs; all live ones where it is empty.
        interrupt_stalled, terminate_stalled: a stalled run may be sent SIGINT, SIGTERM.
        sync_index: bring the index in line after each cycle.
        stall_seconds: silence from which on a run without work is stalled.
        stall_samples: samples in a row that must show no progress before that.
        busy_fraction: share of one processor from which on processes count as working.
        spin_seconds: silence from which on a known agent that only burns a processor is no longer taken for working.
        provider_wait_seconds: silence from which on an open wait for the provider is an incident.
        provider_attempts: try from which on such a wait is an incident at once.
        least_memory_bytes, least_disk_bytes: below that the host is short of it.
        most_descriptors: share of a process's limit of open files from which on it is short of them.
        attempts: how often a rule is tried on the same condition.
        sample_bytes: cap of ``run-health-samples.jsonl`` of a run.
        journal_records: cap of each event journal of a run, in records.
        tail_bytes: how much of the end of a stream is read where it was not read before.
    """

    sessions: frozenset[str] = frozenset()
    interrupt_stalled: bool = False
    terminate_stalled: bool = False
    sync_index: bool = True
    stall_seconds: float = 600.0
    stall_samples: int = 3
    busy_fraction: float = 0.05
    spin_seconds: float = 1800.0
    provider_wait_seconds: float = 60.0
    provider_attempts: int = 3
    least_memory_bytes: int = 256 * _MIB
    least_disk_bytes: int = 1024 * _MIB
    most_descriptors: float = 0.9
    attempts: int = 3
    sample_bytes: int = 16 * _MIB
    journal_records: int = 1000
    tail_bytes: int = 256 * 1024
