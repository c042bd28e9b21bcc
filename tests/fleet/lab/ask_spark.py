"""Ask Spark, in a process of its own: ask_spark.py VIEWS.sql MASTER VIEW… prints a JSON object of lists of rows."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fleet_engines import statements
from pyspark.sql import SparkSession


def rows_of(session: SparkSession, view: str) -> list[Any]:
    """Return all rows of a view; Spark's own JSON leaves nulls out, which is how an absent cell reads too."""
    rows = session.sql(
        f"SELECT to_json(struct(*), map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")) FROM {view}"
    )
    return [json.loads(row[0]) for row in rows.collect()]


def main() -> None:
    """Make the views on the cluster, then print all rows of those that are named."""
    views, master, *names = sys.argv[1:]
    builder = SparkSession.builder.master(master).appName("fleet")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        # Each plan runs once over a few rows, so that compiling it costs more than it saves.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        for statement in statements(Path(views)):
            session.sql(statement)
        with ThreadPoolExecutor(max_workers=4) as asking:  # most of a query is waiting for its steps to be planned
            answers = dict(zip(names, asking.map(lambda name: rows_of(session, name), names), strict=True))
        executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
        answers["executors"] = [{"count": executors}]
        print(json.dumps(answers))
    finally:
        session.stop()


if __name__ == "__main__":
    main()
