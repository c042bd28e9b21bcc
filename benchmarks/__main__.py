"""Run benchmarks: ``python -m benchmarks [SUITE] [arguments of the index benchmark]``; without a suite, all of them."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SUPPORT = {"floor.py", "bench_servers.py", "workload.py"}  # what a benchmark is made of, no benchmark itself


def scripts(suite: str) -> list[Path]:
    """Return the benchmarks of a suite, which is a folder here."""
    return sorted(path for path in (HERE / suite).glob("*.py") if path.name not in SUPPORT)


def main() -> int:
    """Run the benchmarks one after the other; fail with the first that fails."""
    suites = sorted(path.name for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("_"))
    chosen, arguments = (
        (sys.argv[1:2], sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in suites else (suites, sys.argv[1:])
    )
    for suite in chosen:
        for script in scripts(suite):
            print(f"== {suite}/{script.name}", flush=True)
            command = [sys.executable, str(script), *(arguments if suite == "index" else [])]
            code = subprocess.run(command, check=False).returncode
            if code:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
