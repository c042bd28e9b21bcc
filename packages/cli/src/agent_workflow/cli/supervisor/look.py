"""What every run of one cycle is looked at with."""

from dataclasses import dataclass

from agent_workflow.cli.supervisor.clock import Anchor
from agent_workflow.cli.supervisor.documents import Document
from agent_workflow.cli.supervisor.process_table import ProcessTable
from agent_workflow.cli.supervisor.processes import ProcessMemory
from agent_workflow.cli.supervisor.samples import HostSample
from agent_workflow.cli.supervisor.streams import StreamMemory
from agent_workflow.cli.supervisor.work import Processors


@dataclass(frozen=True, slots=True)
class Remembered:
    """A run's newest samples, the oldest first, and the one of them that stands at the journal's end."""

    recorded: Document | None
    newest: list[Document]


@dataclass(frozen=True, slots=True)
class Look:
    """One pass over the host, shared by all runs of a cycle.

    Attributes:
        now, before: both clocks at the beginning of this cycle, and at the end of the last one.
        streams, sessions: what earlier cycles of this process read.
        samples: the newest samples that this process took of each run, recorded or not.
    """

    table: ProcessTable
    host: HostSample
    now: Anchor
    before: Anchor | None
    processors: Processors
    streams: StreamMemory
    sessions: ProcessMemory
    samples: dict[str, Remembered]
