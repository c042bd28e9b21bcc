"""The index as a policy-governed, immutable dataset of Parquet files: one host's part of a fleet's.

Needs the extra ``export`` (pyarrow, fsspec), which is imported when an export runs.
"""

from agent_workflow.index_store.export.errors import (
    DamagedDataset,
    ForeignHost,
    ImplausibleClock,
    InvalidDestination,
    InvalidPolicy,
    MissingDataset,
    NewerDataset,
    UnlistedField,
)
from agent_workflow.index_store.export.exporting import export
from agent_workflow.index_store.export.fields import TABLES, Field, FieldClass, FieldType
from agent_workflow.index_store.export.policy import DEFAULT_POLICY, Policy, load_policy
from agent_workflow.index_store.export.report import ExportReport

__all__ = [
    "DEFAULT_POLICY",
    "TABLES",
    "DamagedDataset",
    "ExportReport",
    "Field",
    "FieldClass",
    "FieldType",
    "ForeignHost",
    "ImplausibleClock",
    "InvalidDestination",
    "InvalidPolicy",
    "MissingDataset",
    "NewerDataset",
    "Policy",
    "UnlistedField",
    "export",
    "load_policy",
]
