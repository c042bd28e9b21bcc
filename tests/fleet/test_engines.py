"""Spark and chDB read the dataset by the documented views, and answer as the three indexes do, cell by cell."""

import pytest
from cells import cells, view_of
from fleet_engines import Rows

from agent_workflow.index_store import KINDS

# A cluster of four Java machines takes a minute to answer, and on a busy machine some more.
pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]


@pytest.mark.parametrize("kind", KINDS)
def test_chdb_answers_as_the_indexes_do(kind: str, chdb_answers: dict[str, Rows], indexes: dict[str, Rows]) -> None:
    """Every kind, every row, every cell that may leave a host."""
    assert cells(kind, indexes[kind]) == cells(kind, chdb_answers[view_of(kind)])


@pytest.mark.parametrize("kind", KINDS)
def test_spark_answers_as_the_indexes_do(kind: str, spark_answers: dict[str, Rows], indexes: dict[str, Rows]) -> None:
    """Every kind, every row, every cell that may leave a host."""
    assert cells(kind, indexes[kind]) == cells(kind, spark_answers[view_of(kind)])


def test_spark_worked_on_two_workers(spark_answers: dict[str, Rows]) -> None:
    """The answers came from a cluster, not from one process that calls itself one."""
    assert [{"count": 2}] == spark_answers["executors"]
