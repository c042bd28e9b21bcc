"""Are the tables those that the migrations make? SQLite finds nothing wrong with a table that somebody dropped."""

from collections.abc import Mapping
from contextlib import closing

import apsw

from agent_workflow.index_store.database import migrate

_Shape = Mapping[tuple[str, str], tuple[str, ...]]
"""Columns of every table and view by its type and name; none of a trigger, or of a view that cannot be read."""


def altered_parts(connection: apsw.Connection) -> list[str]:
    """Say in a sentence each what is not as the current schema has it; tables of other names do no harm.

    Args:
        connection: a database of the current schema version.
    """
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh)
        expected = _shape(fresh)
    found = _shape(connection)
    missing = [f"{kind} {name} is missing" for kind, name in expected if (kind, name) not in found]
    changed = [
        f"{kind} {name} has other columns than this schema's"
        for (kind, name), columns in expected.items()
        if found.get((kind, name), columns) != columns
    ]
    triggers = [f"there is a trigger {name}, which never runs" for kind, name in found if kind == "trigger"]
    return [*missing, *changed, *triggers]


def _shape(connection: apsw.Connection) -> _Shape:
    rows = connection.execute(
        "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view', 'trigger') ORDER BY type, name"
    ).fetchall()
    return {(str(kind), str(name)): _columns(connection, str(name)) for kind, name in rows}


def _columns(connection: apsw.Connection, name: str) -> tuple[str, ...]:
    try:
        return tuple(str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (name,)))
    except apsw.SQLError:  # a view of what is missing
        return ()
