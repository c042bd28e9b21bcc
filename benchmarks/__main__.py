"""Run every benchmark: ``python -m benchmarks [arguments of the index benchmark]``."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run the benchmarks one after the other; fail with the first that fails."""
    for script in sorted(HERE.glob("*/bench.py")):
        print(f"== {script.parent.name}", flush=True)
        code = subprocess.run([sys.executable, str(script), *sys.argv[1:]], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
