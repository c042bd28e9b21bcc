"""Why an export or a question to a dataset is refused."""

from agent_workflow.index_store.errors import IndexStoreError


class InvalidPolicy(IndexStoreError):
    """The policy file cannot be read, or names what is in no list."""


class UnlistedField(IndexStoreError):
    """The index holds a column that has no class, so nobody decided whether it may leave."""


class InvalidDestination(IndexStoreError):
    """The dataset cannot be written or read there, or the call names no place, host or number of days."""


class ForeignHost(IndexStoreError):
    """The dataset has a host of this id that another state root exports."""


class MissingDataset(IndexStoreError):
    """No host has exported to this place yet."""


class DamagedDataset(IndexStoreError):
    """A manifest or a file of the dataset is not what an export writes."""


class NewerDataset(IndexStoreError):
    """A host exported with another version, whose manifest this one cannot read."""


class ImplausibleClock(IndexStoreError):
    """A retention rule would count back from a time that cannot be now, or did so once."""
