"""Keep secrets out of everything the tracer writes.

Values of environment variables whose names look secret are replaced wherever they appear, also inside JSON text;
patterns of the configuration are replaced in every string.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from agent_workflow.tracer._json import encode

_SECRET_NAME: Final = re.compile(
    r"(^|_)(API_?KEY|APIKEY|KEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(_|$)|"
    r"(SECRET|PASSWORD|TOKEN|APIKEY|API_KEY)",
    re.IGNORECASE,
)
_MIN_LENGTH: Final = 6  # shorter values ("1", "true", "none") would blank out ordinary text
_JSON_LEVELS: Final = 3
_PLAIN_VALUE: Final = re.compile(r"(true|false|none|null|yes|no|[0-9]{1,6})\Z", re.IGNORECASE)


class Redactor:
    """Replaces secrets by ``[redacted:NAME]``."""

    def __init__(self, secrets: Mapping[str, str], patterns: Iterable[str] = ()) -> None:
        """Prepare the replacements.

        Args:
            secrets: name to value; the longest value is replaced first.
            patterns: regular expressions that match secrets.

        Raises:
            re.error: a pattern is not a regular expression.
        """
        pairs: dict[str, str] = {}
        for name, value in sorted(secrets.items(), key=lambda item: -len(item[1])):
            for form in _forms(value):
                pairs.setdefault(form, f"[redacted:{name}]")
        self._texts = tuple(pairs.items())
        self._bytes = tuple((form.encode("utf-8", "replace"), mark.encode()) for form, mark in self._texts)
        self._patterns = tuple(re.compile(pattern) for pattern in patterns)
        self._has_nothing_to_do = not self._texts and not self._patterns

    def text(self, text: str) -> str:
        """Redact a text."""
        for form, mark in self._texts:
            if form in text:
                text = text.replace(form, mark)
        for pattern in self._patterns:
            text = pattern.sub("[redacted]", text)
        return text

    def line(self, line: bytes) -> bytes:
        """Redact one line of an agent's output; every other byte stays as it came."""
        for form, mark in self._bytes:
            if form in line:
                line = line.replace(form, mark)
        if self._patterns:
            text = line.decode("utf-8", "surrogateescape")
            for pattern in self._patterns:
                text = pattern.sub("[redacted]", text)
            line = text.encode("utf-8", "surrogateescape")
        return line

    def payload(self, payload: object) -> str:
        """Encode a payload as JSON without secrets."""
        text = encode(payload)
        if self._has_nothing_to_do:
            return text
        if self._patterns or any(form in text for form, _ in self._texts):
            text = encode(self._walk(json.loads(text)))
        return text

    def _walk(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._walk(item) for key, item in value.items()}
        return value


def secrets_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick the variables whose names look secret and whose values can be told from ordinary words."""
    return {
        name: value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _MIN_LENGTH and not _PLAIN_VALUE.match(value)
    }


def _forms(value: str) -> Iterable[str]:
    """Return a value as it is, within JSON, within JSON that is a string of JSON (arguments, envelopes), and so on."""
    forms = {value}
    for _ in range(_JSON_LEVELS):
        forms |= {json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in forms for is_ascii in (True, False)}
    return sorted(forms, key=len, reverse=True)
