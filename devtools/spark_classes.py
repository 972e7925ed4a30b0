"""The library's archive of Spark's classes, for the JVMs of tests: they start in half the time.

    python -m devtools.spark_classes

makes it, as `kstreams warm-up` does, unless there is one. Without it, or where it does not fit, a
JVM loads classes as always.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kstreams.errors import JavaNotFoundError, KStreamsError
from kstreams.spark.class_archive import class_archive
from kstreams.spark.java import java_home
from kstreams.spark.warm_up import warm_up

__all__ = ("archive",)

_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Where tests have the archive named for Spark's own scripts: not a user's choice then."""


def archive() -> Path | None:
    """Return where the archive is, or would be; None where there is none to be."""
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
    """Make the archive, if there is none."""
    os.environ.pop(_OPTIONS, None)
    try:
        warm_up()
    except KStreamsError as exc:
        sys.stderr.write(f"no archive of Spark's classes: {exc}\n")


if __name__ == "__main__":
    main()
