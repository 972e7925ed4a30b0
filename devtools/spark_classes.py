"""The library's archive of Spark's classes for the JVMs of tests, which halves their start time.

    python -m devtools.spark_classes

creates the archive, like `kstreams warm-up`, unless it exists. Without a matching archive, a JVM
loads classes as usual.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kstreams.application.warm_up import warm_up
from kstreams.errors import JavaNotFoundError, KStreamsError
from kstreams.spark.startup.class_archive import class_archive
from kstreams.spark.startup.java import java_home

__all__ = ("archive",)

_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Variable with the archive's option for Spark's own scripts; tests ignore a user's value."""


def archive() -> Path | None:
    """Return the path of the archive, existing or not; None if the machine supports none."""
    told = os.environ.pop(_OPTIONS, None)
    try:
        found = class_archive(java_home())
    except JavaNotFoundError:
        return None
    finally:
        if told is not None:
            os.environ[_OPTIONS] = told
    return None if found is None else found.path


def main() -> None:
    """Create the archive, unless it exists."""
    os.environ.pop(_OPTIONS, None)
    try:
        warm_up()
    except KStreamsError as exc:
        sys.stderr.write(f"no archive of Spark's classes: {exc}\n")


if __name__ == "__main__":
    main()
