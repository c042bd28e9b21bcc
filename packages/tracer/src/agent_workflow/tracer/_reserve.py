"""Space that is given back when the disk is full, so that a run can still write how it ended."""

import os
from pathlib import Path
from typing import Final

_BYTES: Final = 192 * 1024


class Reserve:
    """A file of random bytes (which no file system stores as nothing) beside the journals."""

    def __init__(self, path: Path) -> None:
        """Set the space aside, unless another process at this session has; where there is none, start without."""
        self._path = path
        try:
            if not path.exists() or path.stat().st_size < _BYTES:
                path.write_bytes(os.urandom(_BYTES))
        except OSError:
            self.release()

    def release(self) -> None:
        """Give the space back; doing so twice is fine."""
        self._path.unlink(missing_ok=True)
