"""What an import tells while it works and when it is done."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import has come.

    Attributes:
        bytes_read, bytes_new: of the files that have changed.
        sessions_written, sessions_changed: of the trace; zero as long as files are read.
        published, to_publish: of the runs; zero as long as sessions are written.
    """

    bytes_read: int
    bytes_new: int
    sessions_written: int = 0
    sessions_changed: int = 0
    published: int = 0
    to_publish: int = 0


@dataclass(slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        files: that were looked at.
        unchanged: of them, since the last time.
        foreign: that are nobody's session.
        bytes_read: of their new content.
        agents: how many files of each agent were read.
        written: sessions whose files and rows are new or have changed, oldest first.
        damaged: sentences on lines that could not be read, with file and line; everything else was imported.
        waiting: sentences on tails without a newline, which a writer may still complete.
        unreadable: sentences on files and folders that could not be read.
        published: names of the runs that were published, oldest first.
        recorded: sessions that are evidence already, since they were recorded while they went on.
        fresh: sessions that may still be at work; a later import publishes them.
        unpublished: sentences on sessions that cannot be published; the next import tries again.
        catalogue: the price list that estimates are from, empty when there is none.
    """

    files: int = 0
    unchanged: int = 0
    foreign: int = 0
    bytes_read: int = 0
    agents: dict[str, int] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)
    unpublished: list[str] = field(default_factory=list)
    catalogue: str = ""
