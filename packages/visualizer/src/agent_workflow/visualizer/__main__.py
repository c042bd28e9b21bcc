"""``python -m agent_workflow.visualizer --db F``: the page without the command line's package."""

import argparse
import sys
from pathlib import Path

from agent_workflow.visualizer._serving import DEFAULT_PORT, CannotServe, ServeOptions, serve


def main() -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m agent_workflow.visualizer", description="The page without the command line's package."
    )
    parser.add_argument("--db", type=Path, action="append", default=[], help="trace database; may be repeated")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 for any free one")
    parser.add_argument("--host", default="127.0.0.1", help="anything but loopback needs --token")
    parser.add_argument("--token", help="that every request must show")
    parser.add_argument("--state-root", type=Path, help="of the evidence index")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    given = parser.parse_args()
    options = ServeOptions(tuple(given.db), given.port, given.host, given.token, given.state_root, given.open)
    try:
        serve(options, lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201 - what it is for
    except CannotServe as error:
        sys.stderr.write(f"agent-workflow: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
