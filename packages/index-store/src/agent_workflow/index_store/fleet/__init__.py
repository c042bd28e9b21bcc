"""The curated questions of the index, put to a dataset of many hosts with DuckDB.

Needs the extra ``fleet`` (duckdb, pyarrow, fsspec), which is imported when a question is put.
"""

from agent_workflow.index_store.fleet.answering import query_fleet
from agent_workflow.index_store.fleet.hosts import HostStanding
from agent_workflow.index_store.fleet.report import FleetReport
from agent_workflow.index_store.fleet.verifying import DatasetFault, FleetVerification, verify_fleet

__all__ = ["DatasetFault", "FleetReport", "FleetVerification", "HostStanding", "query_fleet", "verify_fleet"]
