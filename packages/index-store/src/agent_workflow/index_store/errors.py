"""What can go wrong, in two trees.

``IndexStoreError`` stops a call: the state root, the database or the question is at fault. ``EvidenceError`` stops one
run only: its evidence is at fault, and the run is recorded as such.
"""


class IndexStoreError(Exception):
    """A call could not be answered.

    Attributes:
        path: the file or directory at fault, if one is.
        hint: the next step for the person who asked, as a command or a sentence; never content of evidence.
    """

    def __init__(self, message: str, *, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


class UnsafePath(IndexStoreError):
    """A link, somebody else's file, or open permissions stand where our own files belong."""


class ForeignDatabase(IndexStoreError):
    """The database file belongs to another application; it is never touched."""


class NewerDatabase(IndexStoreError):
    """The database was written by a newer version of this package; it is never touched."""


class DamagedDatabase(IndexStoreError):
    """The database is ours and cannot be read; a rebuild replaces it."""


class MissingDatabase(IndexStoreError):
    """There is no index yet."""


class OutdatedDatabase(IndexStoreError):
    """The database has an older schema; the next sync upgrades it.

    Attributes:
        schema_version: the version that it has.
    """

    def __init__(self, message: str, schema_version: int, *, path: str, hint: str) -> None:
        super().__init__(message, path=path, hint=hint)
        self.schema_version = schema_version


class WriterBusy(IndexStoreError):
    """Another process holds the writer's lock, or the database itself for longer than a call waits."""


class NotWritable(IndexStoreError):
    """The state root or its disk takes no writes."""


class UnknownRun(IndexStoreError):
    """No run directory and no row has this id."""


class InvalidQuestion(IndexStoreError):
    """The kind, a filter or a limit of a query is not one of the closed list."""


class DamagedReceipt(IndexStoreError):
    """The receipt of an interrupted prune cannot be read, so nobody can say what it announced."""


class EvidenceError(Exception):
    """One run's evidence is at fault.

    Attributes:
        source_path: path below the run directory, printable whatever the file was called.
        line: number of the record in a journal, from 1; None where the whole file is meant.
        category: the word for ``index_errors.category``.
        settled: False where the same files may read well next time (they changed while they were read).
    """

    category = "run_index_failed"
    settled = True

    def __init__(self, reason: str, source_path: str, line: int | None = None) -> None:
        self.reason = reason
        self.source_path = printable(source_path)
        self.line = line
        super().__init__(self.detail)

    @property
    def detail(self) -> str:
        """The fault with its place, printable, at most 4,096 characters."""
        place = self.source_path if self.line is None else f"{self.source_path}:{self.line}"
        return printable(f"{place}: {self.reason}")[:4096]


class UnsafeSource(EvidenceError):
    """A link, a special file or an escape stands where a regular file is expected."""

    category = "unsafe_source"


class InvalidRecord(EvidenceError):
    """A record is no JSON, or breaks its contract."""


class InvalidReceipt(EvidenceError):
    """A sealed run does not match its receipt."""


class UnreadableSource(EvidenceError):
    """The operating system refused to read a source."""


class UnsettledSource(EvidenceError):
    """A source kept changing while it was read; the next sync tries again."""

    settled = False


class LockedSource(UnsettledSource):
    """A journal's writer kept its lock for as long as a reader waits; to wait again at once would hold up the sync."""


class HistoricalArtifact(EvidenceError):
    """The run was written under a retired format: kept in place, excluded, reported as quarantined."""

    category = "historical_artifact"


def printable(text: str) -> str:
    """Return ``text`` with control characters and undecodable bytes escaped, so that it can be stored and shown."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
