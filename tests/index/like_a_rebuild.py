"""The one measure of a sync: it leaves the rows that a rebuild makes."""

from agent_workflow import index_store

from .evidence_files import EvidenceRoot
from .index_reading import dump


def assert_like_a_rebuild(root: EvidenceRoot) -> None:
    """Check that the rows are those that a rebuild gives."""
    synced = dump(root.database)
    index_store.rebuild(root.path)

    assert dump(root.database) == synced
