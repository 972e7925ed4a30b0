"""Creates the archive of Spark's classes with a small app, to speed up later starts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams.application.app import App
from kstreams.embedded.connection import Embedded
from kstreams.emitter import Emitter
from kstreams.errors import ExecutionError
from kstreams.graph.building.builder import TopologyBuilder
from kstreams.processors.map import map_
from kstreams.serde.text import TEXT
from kstreams.spark.startup.class_archive import class_archive
from kstreams.spark.startup.java import java_home
from kstreams.topic import Topic

__all__ = ("main", "warm_up")

_POLL_SECONDS = 0.2
_RUN_SECONDS = 300
_MAKE_SECONDS = 900
_LINES = Topic("lines", TEXT, TEXT)
_WORDS = Topic("words", TEXT, TEXT)


def warm_up() -> Path:
    """Create the class archive for this Java and Spark, unless it exists; return its path.

    The function runs an app with one record in a separate process, which takes about ten seconds;
    the archive takes half a minute of a processor.

    Raises:
        JavaNotFoundError: There is no Java that Spark can run on.
        ExecutionError: The archive cannot be created; the error has the reason.
    """
    archive = class_archive(java_home())
    if archive is None:
        raise ExecutionError(
            "there is no directory for an archive of Java classes",
            hint="set KSTREAMS_CACHE to a folder of your own, whose path has no spaces, quotation "
            "marks, commas, backslashes or percent signs, and remove options of class archives "
            "from SPARK_SUBMIT_OPTS.",
        )
    if archive.is_there():
        return archive.path
    done = subprocess.run(
        [sys.executable, "-m", "kstreams.application.warm_up"],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_RUN_SECONDS,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise ExecutionError(
            f"the app of the warm-up failed; the last line of its output is: {last[0]}"
        )
    end = time.monotonic() + _MAKE_SECONDS
    while archive.is_awaited() and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    if not archive.is_there():
        raise ExecutionError(
            f"Java did not create an archive of classes in {archive.folder}",
            hint="check that the disk has 200 MB left; apps also run without the archive, but "
            "start more slowly.",
        )
    return archive.path


def main() -> None:
    """Run an app with one record and one edge; the archive is created at its end."""
    builder = TopologyBuilder("warm-up")
    lines = builder.repartition("edge", builder.add_source("lines", _LINES), key=TEXT, value=TEXT)
    builder.add_sink(
        "words", _WORDS, builder.add_processor("same", map_(lambda k, v: (k, v)), lines)
    )
    with TemporaryDirectory(prefix="kstreams-warm-up-") as folder:
        topics = Embedded(Path(folder) / "topics")
        with Emitter(_LINES, topics) as emitter:
            emitter.emit_many([("key", "value")])
        App(builder.build(), topics, checkpoint=Path(folder) / "app").run(until="end")


if __name__ == "__main__":
    main()
