"""The package's version, which records name. Asking the installed metadata for it would double the start-up time."""

from typing import Final

VERSION: Final = "0.1.0"
