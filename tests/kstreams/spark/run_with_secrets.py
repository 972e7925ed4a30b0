"""A failing run with secrets in its settings, started as a process by `test_secrets`.

Reads its settings as JSON from standard input. Prints each process that has a secret in its
arguments during the run.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

from kstreams import INT64, TEXT, App, Kafka, Topic, TopologyBuilder, map_values
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from tests.support.spark.bench import COUNTS, Count


def processes(secrets: list[str]) -> list[str]:
    """Return the command lines of processes that contain a secret."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = file.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if any(secret in arguments for secret in secrets):
            found.append(file.parent.name)
    return found


def upper(value: str) -> str:
    """Convert to upper case; fail on one of the values."""
    if value == "bad":
        raise ValueError("a bad record")
    return value.upper()


def main() -> None:
    """Run to the end twice: on all topics, and with a storage that refuses access."""
    given: dict[str, Any] = json.loads(sys.stdin.read())
    home = Path(given["home"])
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
    logging.getLogger("py4j").setLevel(logging.INFO)
    for name in (
        "boto3",
        "botocore",
        "urllib3",
    ):  # the logs of these packages are not the library's
        logging.getLogger(name).setLevel(logging.WARNING)
    totals = Topic(f"{given['topic']}-totals", TEXT, INT64)
    builder = TopologyBuilder("secretive")
    words = builder.add_source("words", Topic(given["topic"], TEXT, TEXT))
    shouted = builder.add_processor("upper", map_values(upper), words)
    counted = builder.add_processor("count", Count, shouted, stores=[COUNTS])
    builder.add_sink("totals", totals, counted)
    topology = builder.build()
    events = home / "events"
    events.mkdir()
    for turn, storage in enumerate((given["s3"], {**given["s3"], **given["wrong"]})):
        app = App(
            topology,
            Kafka(given["bootstrap"], given["options"]),
            state=RocksDB(directory=str(home / "local"), log=S3(given["url"], **storage)),
            checkpoint=home / f"checkpoint-{turn}",
            config={
                "spark.master": "local[2,1]",
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": events.as_uri(),
                "spark.eventLog.compress": "false",
                "spark.log.level": "INFO",
            },
        )
        try:
            app.run(until="end", timeout=timedelta(seconds=90))
        except Exception as error:  # the output is inspected by the test
            traceback.print_exc(file=sys.stdout)
            print("failed with", repr(error), vars(error), app.failure)  # noqa: T201
        print("in arguments of", processes(given["secrets"]))  # noqa: T201


if __name__ == "__main__":
    main()
