"""The SQL files name every table and field that can leave, and the documentation every class."""

import re
from pathlib import Path

import pytest

from agent_workflow.index_store.export import DEFAULT_POLICY, TABLES, FieldClass

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("engine", ["duckdb", "spark", "clickhouse", "trino"])
def test_every_kind_has_a_view(engine: str) -> None:
    """In each engine's file, over the files of its own table."""
    text = (DOCS / "sql" / f"{engine}.sql").read_text(encoding="utf-8")

    views = set(re.findall(r"VIEW (\w+)", text))
    assert {*TABLES, "attempts", "performance"} <= views
    assert set(TABLES) == set(re.findall(r"/table=(\w+)/schema=v1", text))


@pytest.mark.parametrize("table", TABLES)
def test_trino_has_every_field(table: str) -> None:
    """Its tables list their columns: all that a policy can let out, in the order of the list."""
    text = (DOCS / "sql" / "trino.sql").read_text(encoding="utf-8")
    listed = re.search(rf"CREATE TABLE IF NOT EXISTS {table}_files \((.*?)\n\)", text, re.DOTALL)

    assert listed is not None
    columns = re.findall(r"^    (\w+) ", listed.group(1), re.MULTILINE)
    fields = [field.name for field in TABLES[table] if field.field_class is not FieldClass.INDEX]
    assert [*fields, "host", "date"] == columns


def test_the_documented_classes_are_those_that_there_are() -> None:
    """And the example of a policy is the default."""
    text = (DOCS / "export.md").read_text(encoding="utf-8")

    assert {c.value for c in FieldClass if c is not FieldClass.INDEX} == set(
        re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    )
    example = re.search(r"^classes = \[(.*)\]$", text, re.MULTILINE)
    assert example is not None
    assert {c.value for c in DEFAULT_POLICY.classes} == set(re.findall(r'"(\w+)"', example.group(1)))
