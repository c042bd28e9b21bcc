"""The command catalog: the commands that an agent may use, as data."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Exactly, Record, Shape, WhenPresent
from agent_workflow.evidence_schemas._launch import Role
from agent_workflow.evidence_schemas._scalars import (
    FreeArray,
    Int64,
    Natural,
    Positive,
    Sha256,
    SomeNonEmptyTexts,
    Text,
)


class CatalogArgument(Shape, extra="forbid"):
    """One option or positional argument of a command."""

    dest: str
    flags: WhenPresent[SomeNonEmptyTexts] = None
    help: str | None
    type: str
    required: bool
    default: Any
    nargs: str | Int64 | None
    choices: WhenPresent[FreeArray] = None
    metavar: Any = None


class CatalogCommand(Shape, extra="forbid"):
    """One command."""

    command: Text
    path: SomeNonEmptyTexts
    summary: str | None
    synopsis: Text
    options: list[CatalogArgument]
    positionals: list[CatalogArgument]


class CatalogApplication(Shape, extra="forbid"):
    """The program that has the commands."""

    name: Literal["agent-workflow"]
    version: Text
    cli_invocation: SomeNonEmptyTexts


class PackageResource(Shape, extra="forbid"):
    """A file that a plugin brings along."""

    identifier: Text
    kind: Literal["schema", "asset"]
    package: Text
    path: Text
    plugin: Text
    sha256: Sha256
    size: Natural


class CatalogPlugin(Shape, extra="forbid"):
    """A plugin and what it adds."""

    name: Text
    plugin_version: Text
    api_version: Positive
    entry_point: Text
    distribution: str | None
    distribution_version: str | None
    commands: list[Text]
    assets: list[Text]
    schemas: list[Text]
    resources: list[Text]
    package_resources: WhenPresent[list[PackageResource]] = None


class CommandCatalog(Record, extra="forbid"):
    """``command-catalog.json``."""

    schema_: Literal["agent-workflow/command-catalog/v1"] = Field(alias="schema")
    version: Annotated[Literal[1], Exactly()]
    application: CatalogApplication
    commands: Annotated[list[CatalogCommand], Field(min_length=1)]
    global_options: list[CatalogArgument]
    plugins: list[CatalogPlugin]
    role: WhenPresent[Role] = None
