"""The YAML of a configuration: its values, and the line that each of them begins in.

Imported when one is read, since yaml takes longer to import than the rest of the tracer.
"""

from pathlib import Path
from typing import NamedTuple

import yaml


class ConfigYaml(NamedTuple):
    """What a file says.

    Attributes:
        value: of the whole document; None where the file is empty or cannot be read.
        lines: the line, from 1, of each key and list item by its place: ``defaults.model``, ``agents[0]``; an item
            with a name is there by that, too: ``agents[planner].tools``.
        repeated: a sentence for each key that stands again in its mapping, where the last one counts.
        problem: why it cannot be read, a sentence with the line where one is known; empty where it can.
    """

    value: object
    lines: dict[str, int]
    repeated: list[str]
    problem: str


def read_config_yaml(file: Path) -> ConfigYaml:
    """Read a file. Never raises."""
    places, value = _Places(), None
    try:
        loader = yaml.SafeLoader(file.read_bytes())
        try:
            if (node := loader.get_single_node()) is not None:
                places.walk(node)
                value = loader.construct_document(node)
        finally:
            loader.dispose()
    except OSError as error:
        return ConfigYaml(None, {}, [], f"{file}: cannot be read: {error.strerror}")
    except yaml.MarkedYAMLError as error:
        return ConfigYaml(None, {}, [], _told(error))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return ConfigYaml(None, {}, [], " ".join(str(error).split()))
    return ConfigYaml(value, places.lines, places.repeated, "")


def _told(error: yaml.MarkedYAMLError) -> str:
    """Return the error as a sentence; the mark of the problem is where it was noticed, which may be after the fault."""
    what = ", ".join(part for part in (error.context, error.problem) if part)
    mark = error.problem_mark or error.context_mark
    return what if mark is None else f"line {mark.line + 1}: {what}"


class _Places:
    """Walks over the nodes of a document before it is constructed, which merges what ``<<`` brings into them."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.repeated: list[str] = []
        self._walked: set[int] = set()

    def walk(self, node: yaml.Node, place: str = "") -> None:
        if id(node) in self._walked:  # an alias, which may be of something that it lies in
            return
        self._walked.add(id(node))
        if isinstance(node, yaml.MappingNode):
            self._keys(node, place)
        elif isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                numbered, named = f"{place}[{number}]", f"{place}[{_name(item) or number}]"
                self.lines[numbered] = item.start_mark.line + 1
                self.lines.setdefault(named, item.start_mark.line + 1)
                self.walk(item, named)

    def _keys(self, node: yaml.MappingNode, place: str) -> None:
        seen: set[str] = set()
        for key, value in node.value:
            own = f"{place}.{key.value}" if place else str(key.value)
            line = key.start_mark.line + 1
            if own in seen:
                self.repeated.append(f"line {self.lines[own]}: {own} stands again in line {line}")
            seen.add(own)
            self.lines[own] = line
            self.walk(value, own)


def _name(item: yaml.Node) -> str:
    """Return what an item calls itself, if it does."""
    if not isinstance(item, yaml.MappingNode):
        return ""
    return next(
        (str(value.value) for key, value in item.value if key.value == "name" and isinstance(value, yaml.ScalarNode)),
        "",
    )
