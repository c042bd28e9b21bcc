"""The SQL files name every table and field that can leave, and the documentation every class."""

import re
from pathlib import Path

import duckdb
import pytest
from cells import cells, view_of
from fleet_engines import Rows, statements, views_for

from agent_workflow.index_store import KINDS
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


@pytest.fixture(scope="module")
def trino_views(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Give DuckDB with Trino's views, over tables with Trino's columns and types: there is no Trino to be had here."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    manifests = f"read_json('{dataset}/manifests/*/manifest.json')"
    connection.execute(f"CREATE VIEW parts AS SELECT '{dataset}/' || unnest(parts).path AS path FROM {manifests}")
    for statement in statements(views_for("trino", dataset, tmp_path_factory.mktemp("trino"))):
        table = re.match(r"CREATE TABLE IF NOT EXISTS (\w+)_files \((.*?)\n\)", statement, re.DOTALL)
        if table:
            columns = re.findall(r"^    (\w+) (.+?),?$", table.group(2), re.MULTILINE)
            told = ", ".join(f"CAST({name} AS {of_type}) AS {name}" for name, of_type in columns)
            files = f"'{dataset}/table={table.group(1)}/schema=v1/*/*/*.parquet'"
            connection.execute(
                f'CREATE VIEW {table.group(1)}_files AS SELECT {told}, filename AS "$path" FROM read_parquet('
                f"{files}, filename = true, hive_partitioning = true, hive_types = {{'host': VARCHAR, 'date': DATE}})"
            )
        elif statement.startswith("CREATE OR REPLACE VIEW") and not statement.startswith(
            "CREATE OR REPLACE VIEW parts"
        ):
            connection.execute(statement)
    return connection


@pytest.mark.parametrize("kind", KINDS)
def test_the_views_of_trino_say_what_the_indexes_do(
    kind: str, trino_views: duckdb.DuckDBPyConnection, indexes: dict[str, Rows]
) -> None:
    """Their text, columns and types, cell by cell; that Trino itself reads them is not shown."""
    asked = trino_views.execute(f"SELECT * FROM {view_of(kind)}")
    names = [column[0] for column in asked.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in asked.fetchall()]

    assert cells(kind, indexes[kind]) == cells(kind, rows)
