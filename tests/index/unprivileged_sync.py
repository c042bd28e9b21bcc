"""Index as a user whose permissions count, in a process of its own: root passes every mode.

Called as ``python unprivileged_sync.py UID WARM_ROOT ROOT``. The interpreter and the packages may lie where that user
cannot read, so everything is imported by indexing WARM_ROOT first; then the user changes.
"""

import json
import os
import sys
from pathlib import Path

from agent_workflow import index_store


def main(uid: int, warm_root: Path, root: Path) -> None:
    """Sync ``root`` as ``uid`` and print the report's document."""
    index_store.rebuild(warm_root)
    index_store.sync(warm_root)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    print(json.dumps(index_store.sync(root).to_document()))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
