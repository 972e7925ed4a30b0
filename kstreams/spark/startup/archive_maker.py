"""The process that creates a class archive after an app and its JVM have ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from kstreams.spark.startup.class_archive import ClassArchive

__all__ = ("begin", "main")

_POLL_SECONDS = 0.2
_WAIT_SECONDS = 120.0


def begin(archive: ClassArchive, classes: Path, class_path: str, jvm: int) -> None:
    """Start a background process with the lowest priority and without output.

    Args:
        archive: The archive to create.
        classes: The list of classes that the JVM writes until it ends.
        class_path: The class path of the JVM.
        jvm: The process id of the JVM.
    """
    told = [str(archive.java), str(archive.folder), archive.key, str(classes), class_path, jvm]
    with suppress(OSError):
        subprocess.Popen(  # noqa: S603  # this Python
            [sys.executable, "-m", "kstreams.spark.startup.archive_maker", json.dumps(told)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )


def main() -> None:
    """Wait until the JVM has ended, then create the archive of its Java classes."""
    java, folder, key, classes, class_path, jvm = json.loads(sys.argv[1])
    os.nice(19)
    end = time.monotonic() + _WAIT_SECONDS
    while _is_alive(jvm) and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    ClassArchive(Path(java), Path(folder), key).make(Path(classes), class_path)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    main()
