"""The policy of an export: which classes of fields leave, and which single fields beside or in spite of their class."""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_workflow.index_store.export.errors import InvalidPolicy
from agent_workflow.index_store.export.fields import INDEX_COLUMNS, TABLES, Field, FieldClass

_KEYS = {"version", "classes", "also", "without"}
_MAXIMUM_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Policy:
    """What may leave.

    Attributes:
        classes: fields of these classes leave.
        also: single fields (``permissions.target``) that leave although their class does not.
        without: single fields that stay although their class leaves; here a column of the index that has no class
            yet may be named too, which lets the export go on without it.
    """

    classes: frozenset[FieldClass]
    also: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    def lets_out(self, table: str, field: Field) -> bool:
        """Tell whether a field leaves."""
        name = f"{table}.{field.name}"
        if field.is_source_digest:
            return True
        if field.field_class is FieldClass.INDEX or name in self.without:
            return False
        return field.field_class in self.classes or name in self.also

    def fields(self, table: str) -> tuple[Field, ...]:
        """Return the fields of a table that leave, in their order."""
        return tuple(field for field in TABLES[table] if self.lets_out(table, field))

    def left_out(self, table: str) -> tuple[str, ...]:
        """Return the names of the fields of a table that stay."""
        return tuple(field.name for field in TABLES[table] if not self.lets_out(table, field))

    def unlisted(self, columns: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
        """Return the columns of the index, as ``table.column``, about which nobody decided."""
        return tuple(
            name
            for table, known in INDEX_COLUMNS.items()
            for column in columns.get(table, ())
            if column not in known and (name := f"{table}.{column}") not in self.without
        )

    def to_document(self) -> dict[str, list[str]]:
        """Return the policy as JSON."""
        return {
            "classes": sorted(field_class.value for field_class in self.classes),
            "also": sorted(self.also),
            "without": sorted(self.without),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the policy, whatever file it was written in."""
        return hashlib.sha256(json.dumps(self.to_document(), sort_keys=True).encode()).hexdigest()


DEFAULT_POLICY = Policy(frozenset(FieldClass) - {FieldClass.PATH, FieldClass.TEXT, FieldClass.INDEX})
"""Paths and texts stay."""


def load_policy(path: Path) -> Policy:
    """Read a policy file: TOML with ``version = 1``, ``classes``, and where wanted ``also`` and ``without``.

    Raises:
        InvalidPolicy: it cannot be read, or a key, class or field in it is in no list.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAXIMUM_BYTES + 1)
        if len(raw) > _MAXIMUM_BYTES:
            raise _invalid(path, "it is larger than a policy can be")
        document = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise _invalid(path, f"it cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _invalid(path, f"it is no TOML: {error}") from error
    if unknown := sorted(document.keys() - _KEYS):
        raise _invalid(path, f"it has no key {unknown[0]!r}; its keys are {', '.join(sorted(_KEYS))}")
    version = document.get("version")
    if version != 1 or isinstance(version, bool):
        raise _invalid(path, "it must say version = 1")
    if "classes" not in document:
        raise _invalid(path, "it must name the classes that leave")
    policy = Policy(
        _classes(path, _names(path, document, "classes")),
        _listed(path, "also", _names(path, document, "also")),
        _withheld(path, _names(path, document, "without")),
    )
    if both := sorted(policy.also & policy.without):
        raise _invalid(path, f"also and without both name {both[0]!r}")
    return policy


def _names(path: Path, document: Mapping[str, object], key: str) -> list[str]:
    names = document.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _invalid(path, f"{key} must be a list of names")
    return names


def _classes(path: Path, names: list[str]) -> frozenset[FieldClass]:
    allowed = {field_class.value: field_class for field_class in FieldClass if field_class is not FieldClass.INDEX}
    for name in names:
        if name not in allowed:
            raise _invalid(path, f"there is no class {name!r}; the classes are {', '.join(allowed)}")
    return frozenset(allowed[name] for name in names)


def _listed(path: Path, key: str, names: list[str]) -> frozenset[str]:
    for name in names:
        table, _, column = name.partition(".")
        found = next((field for field in TABLES.get(table, ()) if field.name == column), None)
        if found is None:
            raise _invalid(path, f"{key} names {name!r}, which is no field (table.field)")
        if key == "without" and found.is_source_digest:
            raise _invalid(path, f"without names {name!r}, but every row carries the digest of its source")
        if found.field_class is FieldClass.INDEX:
            raise _invalid(path, f"{key} names {name!r}, which is the index's own and never leaves")
    return frozenset(names)


def _withheld(path: Path, names: list[str]) -> frozenset[str]:
    """Check the names of ``without``: fields, or columns of the index's tables, which may be newer than the list."""
    for name in names:
        table, _, column = name.partition(".")
        of_export = any(field.name == column for field in TABLES.get(table, ()))
        if of_export or not column or table not in INDEX_COLUMNS:
            _listed(path, "without", [name])
    return frozenset(names)


def _invalid(path: Path, reason: str) -> InvalidPolicy:
    return InvalidPolicy(f"the policy {path} cannot be used: {reason}", path=str(path), hint="see docs/export.md")
