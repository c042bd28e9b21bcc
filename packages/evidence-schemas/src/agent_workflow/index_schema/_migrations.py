"""The ordered migrations, one SQL file each.

A migration is text without transaction statements: whoever applies it runs the statements, the ``schema_migrations``
row and ``PRAGMA user_version`` in one transaction, so that a crash leaves either version whole.
"""

from typing import NamedTuple


class Migration(NamedTuple):
    """One step from the version before to ``version``.

    Attributes:
        version: the ``user_version`` that the step leads to, from 1 without gaps.
        description: one line for ``schema_migrations``.
        file_name: the SQL file in this package's ``migrations`` folder.
    """

    version: int
    description: str
    file_name: str

    @property
    def sql(self) -> str:
        """The statements, separated by semicolons, without BEGIN or COMMIT."""
        from importlib.resources import files  # a database that is up to date needs no statement

        return (files(__package__) / "migrations" / self.file_name).read_text(encoding="utf-8")


MIGRATIONS = (
    Migration(1, "projection of run evidence", "0001_projection.sql"),
    Migration(2, "typed attempt outcomes", "0002_attempt_outcomes.sql"),
    Migration(3, "verified evidence repairs", "0003_evidence_repairs.sql"),
    Migration(4, "notices, journal checkpoints, key-ordered journal tables", "0004_notices_and_checkpoints.sql"),
    Migration(5, "where the traces of recorded workflows lie", "0005_run_traces.sql"),
    Migration(6, "no run that a later one took the place of in a sum", "0006_superseded_runs.sql"),
)

SCHEMA_VERSION = MIGRATIONS[-1].version
"""The version that this package writes and reads."""


def pending_migrations(user_version: int) -> tuple[Migration, ...]:
    """Return the steps that lead from ``user_version`` to :data:`SCHEMA_VERSION`, in order."""
    return tuple(step for step in MIGRATIONS if step.version > user_version)
