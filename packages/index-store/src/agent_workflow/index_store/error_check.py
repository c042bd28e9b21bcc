"""Whether runs that the index holds to be in error still are: they are read and judged again, beside the index."""

from functools import cached_property

import apsw

from agent_workflow.index_store.database import migrate
from agent_workflow.index_store.discovery import Candidate, Storage
from agent_workflow.index_store.indexing import RunIndexer
from agent_workflow.index_store.scanning import scan_candidate
from agent_workflow.index_store.verification_report import SourceMismatch


class ErrorCheck:
    """Judges runs in error by indexing them into a database of its own, in memory; close it when done."""

    def __init__(self) -> None:
        self._connection: apsw.Connection | None = None

    @cached_property
    def _indexer(self) -> RunIndexer:
        """Made when the first run is in error: mostly none is."""
        self._connection = apsw.Connection(":memory:")
        self._connection.transaction_mode = "IMMEDIATE"
        migrate(self._connection)
        return RunIndexer(self._connection, fresh=False)

    def close(self) -> None:
        """Let the database go."""
        if self._connection is not None:
            self._connection.close()

    def compare(self, candidate: Candidate, storage: Storage, indexed: str) -> SourceMismatch | None:
        """Compare the error that a run was indexed with to what is wrong with it now.

        Returns:
            None where it is the very same.
        """
        session_id = candidate.session_id
        try:
            scan = scan_candidate(candidate, storage)
            error = self._indexer.index(candidate, scan, storage, whole=True).error
        except FileNotFoundError:
            return SourceMismatch(session_id, ".", "missing", "the run's directory is gone")
        if error is None:
            detail = f"the index has an error of it that is none any more: {indexed}"
            return SourceMismatch(session_id, ".", "mismatch", detail)
        if error.detail != indexed:
            detail = f"{error.detail}; the index has another error of the run: {indexed}"
            return SourceMismatch(session_id, error.source_path, "mismatch", detail)
        return None
