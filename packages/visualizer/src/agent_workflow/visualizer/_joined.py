"""The page's modules and style sheets joined into a few files: to fetch eighty files takes longer than to read them.

The page is written as modules that import each other, and works as such. What a browser asks for first is answered
with everything it imports, each module in a function of its own; nothing is renamed, shortened or compiled. Modules are
written in one style, and what is not of that style is refused here, when the server starts and in the tests.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Final

Texts = Mapping[str, str]

_IMPORT: Final = re.compile(r'^import\s+(?:\{([^}]*)\}\s+from\s+|(\w+)\s+from\s+)?"(\.[^"]+)";\n', re.MULTILINE)
_PASSED_ON: Final = re.compile(r'^export\s+\{([^}]*)\}\s+from\s+"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
_SHEET: Final = re.compile(r'^@import "([^"]+)";\n', re.MULTILINE)
_LEFT: Final = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_WHEN_NEEDED: Final = re.compile(r"\bimport\(")


class UnknownStyle(ValueError):
    """A module that imports or exports in a way that is not known here."""


def join_modules(texts: Texts, entry: str, apart: Callable[[str], bool], loaded: str | None = None) -> str:
    """Join a module with everything it imports.

    Args:
        texts: all modules by path.
        entry: path of the module to begin with.
        apart: tells which modules stay files of their own.
        loaded: a joined module that is loaded already; what it holds is taken from it, so that nothing exists twice.

    Returns:
        One module. It exports what it holds as ``m_<path>``, for others that are joined with ``loaded``.

    Raises:
        UnknownStyle: a module cannot be joined.
    """
    held = _order(texts, loaded, apart) if loaded is not None else []
    order = [path for path in _order(texts, entry, apart) if path not in held]
    head, body = [], []
    for path in order:
        if apart(path):
            head.append(f'import * as {_name(path)} from "{_relative(entry, path)}";\n')
        else:
            if _WHEN_NEEDED.search(texts[path]) and posixpath.dirname(path) != posixpath.dirname(entry):
                raise UnknownStyle(f"{path}: what it imports when needed would be looked for elsewhere")
            body.append(_wrapped(texts, path))
    taken = sorted({target for path in order if not apart(path) for target in _targets(texts, path)} & set(held))
    if loaded is not None and taken:
        head.append(f'import {{ {", ".join(map(_name, taken))} }} from "{_relative(entry, loaded)}";\n')
    names = ", ".join(_name(path) for path in order)
    last = f"export {{ {names} }};\n" + "".join(
        f"export const {name} = {_name(entry)}.{name};\n" for name in _EXPORT.findall(texts[entry])
    )
    return "".join([*head, *body, last])


def join_sheets(texts: Texts, entry: str) -> str:
    """Put the style sheets that a style sheet imports into its place, in their order."""
    return _SHEET.sub(lambda found: texts[_resolved(entry, found[1])], texts[entry])


def _order(texts: Texts, entry: str, apart: Callable[[str], bool]) -> list[str]:
    """List a module and everything it imports, each after what it imports itself."""
    found: dict[str, bool] = {}

    def visit(path: str) -> None:
        if path in found:
            if not found[path]:
                raise UnknownStyle(f"{path} imports itself by way of others")
            return
        if path not in texts:
            raise UnknownStyle(f"{path} is imported and does not exist")
        found[path] = False
        for target in [] if apart(path) else _targets(texts, path):
            visit(target)
        found[path] = True
        order.append(path)

    order: list[str] = []
    visit(entry)
    return order


def _targets(texts: Texts, path: str) -> list[str]:
    text = texts[path]
    named = [found[3] for found in _IMPORT.finditer(text)] + [found[2] for found in _PASSED_ON.finditer(text)]
    return [_resolved(path, target) for target in named]


def _wrapped(texts: Texts, path: str) -> str:
    text = texts[path]
    exported = [*_EXPORT.findall(text), *_passed_on(path, text)]
    text = _PASSED_ON.sub("", text)
    text = _IMPORT.sub(lambda found: _bound(path, found), text)
    text = _EXPORT.sub("", text)
    if _LEFT.search(text):
        raise UnknownStyle(f"{path}: an import or export of a kind that cannot be joined")
    return f"const {_name(path)} = (() => {{\n{text}return {{ {', '.join(exported)} }};\n}})(); // {path}\n"


def _bound(path: str, found: re.Match[str]) -> str:
    source = _name(_resolved(path, found[3]))
    if found[1] is not None:
        return f"const {{{found[1].replace(' as ', ': ')}}} = {source};\n"
    return f"const {found[2]} = {source}.default;\n" if found[2] else ""


def _passed_on(path: str, text: str) -> list[str]:
    return [
        f"{name.strip()}: {_name(_resolved(path, found[2]))}.{name.strip()}"
        for found in _PASSED_ON.finditer(text)
        for name in found[1].split(",")
    ]


def _name(path: str) -> str:
    return "m_" + re.sub(r"\W", "_", path.removesuffix(".js"))


def _resolved(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _relative(path: str, target: str) -> str:
    found = posixpath.relpath(target, posixpath.dirname(path) or ".")
    return found if found.startswith(".") else f"./{found}"
