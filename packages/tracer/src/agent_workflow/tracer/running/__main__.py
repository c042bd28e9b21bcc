"""``python -m agent_workflow.tracer.running [OPTION]… -- COMMAND …``, for those who have the tracer alone."""

import sys

from agent_workflow.tracer.running import parse, run_command
from agent_workflow.tracer.running._options import USAGE


def main() -> int:
    """Run the command of the call; return only when there is none."""
    options = parse(sys.argv[1:])
    if options is None:
        sys.stderr.write(USAGE)
        return 0 if "--help" in sys.argv[1:2] else 2
    run_command(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
