"""JSON, strict on the way in and forgiving on the way out."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
MAX_DEPTH: Final = 200
INT64_MAX: Final = 2**63 - 1
_MAX_WRITTEN_DEPTH: Final = 100
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_MAX_INT_BITS: Final = 4096  # Python refuses to read a number of more than 4,300 digits
_MAX_VALUE_CHARACTERS: Final = 16 * 1024 * 1024

quote: Final = json.encoder.encode_basestring_ascii
"""Writes a text as a JSON string in ASCII."""


# Circles need no markers: what is deeper than is allowed is never encoded.
_encode: Final = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(", ", ": ")).encode


def encode(value: object) -> str:
    """Write a value as one ASCII line; what JSON cannot hold becomes text, so that logging never raises.

    What is written can be read by ``decode_record``: keys are text, depth, numbers and length are bounded.
    """
    try:
        if _has_plain_keys(value, 0):
            text = _encode(value)
            if len(text) <= _MAX_VALUE_CHARACTERS:
                return text
            return _encode({"cut_json": text[:20_000], "characters": len(text)})
    except (TypeError, ValueError, RecursionError):
        pass  # told apart below, where every part is looked at
    return encode(_plain(value, ()))


def decode_record(line: bytes) -> dict[str, Any]:
    """Read one line as a JSON object.

    Raises:
        ValueError: not UTF-8, not an object, a repeated key, NaN or an infinity, deeper than 200 or over 64 MiB.
    """
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"record of {len(line)} bytes is over {MAX_LINE_BYTES}")
    try:
        value = _decode(line.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    if _too_deep(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    return value


def as_int(value: object) -> int | None:
    """Return a whole number that SQLite can hold, else ``None``; booleans are not numbers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    if not isinstance(value, int) or not -INT64_MAX - 1 <= value <= INT64_MAX:
        return None
    return value


def as_float(value: object) -> float | None:
    """Return a finite number, else ``None``; booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_text(value: object) -> str | None:
    """Return a text that SQLite can hold (no lone surrogates), else ``None``."""
    return bindable(value) if isinstance(value, str) else None


def bindable(text: str) -> str:
    """Replace lone surrogates, which SQLite refuses."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def clip(text: str, limit: int) -> str:
    """Shorten a text and say by how much."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"


def clip_strings(value: object, limit: int, depth: int = 0) -> object:
    """Shorten every text inside a value."""
    if isinstance(value, str):
        return clip(value, limit)
    if depth > MAX_DEPTH:
        return "… [nested too deeply]"
    if isinstance(value, Mapping):
        return {key: clip_strings(item, limit, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clip_strings(item, limit, depth + 1) for item in value]
    return value


def _has_plain_keys(value: object, depth: int) -> bool:
    """Tell whether no container is too deep and every key is text: 1 and "1" would become the same key."""
    # Types are compared, not tested, and dicts come first: every event passes here.
    kind = type(value)
    if kind is dict:
        if depth >= _MAX_WRITTEN_DEPTH:
            return False
        for key, item in value.items():  # type: ignore[attr-defined] # it is a dict
            if type(key) is not str:
                return False
            if type(item) not in _SCALARS and not _has_plain_keys(item, depth + 1):
                return False
        return True
    if kind is list or kind is tuple:
        if depth >= _MAX_WRITTEN_DEPTH:
            return False
        return all(type(item) in _SCALARS or _has_plain_keys(item, depth + 1) for item in value)  # type: ignore[attr-defined] # it is a list
    return kind in _SCALARS  # anything else is looked at closely, subclasses of dict among them


def _plain(value: object, inside: tuple[int, ...]) -> object:
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MAX_INT_BITS else hex(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if len(inside) >= _MAX_WRITTEN_DEPTH or id(value) in inside:
        return "… [nested too deeply]"
    within = (*inside, id(value))
    if isinstance(value, Mapping):
        plain: dict[str, object] = {}
        for key, item in value.items():
            plain[_free_name(_text_of(key), plain)] = _plain(item, within)
        return plain
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, within) for item in value]
    return _text_of(value)


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a broken __str__ of the caller's object must not end the run
        return f"<{type(value).__name__}>"


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "'"
    return name


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is out of range")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key is repeated")
    return record


# Made once: with a hook, ``json.loads`` makes a decoder for every text.
_decode: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
).decode


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)  # type: ignore[attr-defined] # only dicts and lists get in
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True
