"""Spark's classes, loaded once and archived: a JVM of the tests then starts in half the time.

    python -m devtools.spark_classes

makes the archive, by running an example, unless this environment has one for its Java and its
Spark. Without it, or where it does not fit, a JVM loads classes as always.
"""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import which

__all__ = ("archive",)

_EXAMPLE = Path(__file__).parents[1] / "examples" / "word_count.py"


def archive() -> Path:
    """Return where the archive is, or would be: in the environment, so that it goes with it."""
    return Path(sys.prefix) / f"spark-classes-{_key()}.jsa"


def _key() -> str:
    """Return what changes with Java and with Spark's jars, both of which an archive is tied to."""
    spec, java = find_spec("pyspark"), which("java")
    parts = []
    if spec is not None and spec.origin is not None:
        parts += sorted(Path(spec.origin).parent.glob("jars/*.jar"))
    if java is not None:
        parts.append(Path(java).resolve())
    told = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in parts]
    return sha256(repr(told).encode()).hexdigest()[:16]


def main() -> None:
    """Make the archive, if there is none."""
    target = archive()
    if target.exists():
        return
    for old in target.parent.glob("spark-classes-*.jsa"):
        old.unlink()
    made = target.with_suffix(".new")
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit={made}"
    environment = {
        **os.environ,
        "SPARK_SUBMIT_OPTS": options,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, str(_EXAMPLE)], env=environment, capture_output=True, check=False
    )  # until the JVM has closed its output too
    if done.returncode == 0 and made.exists():
        made.rename(target)
    else:
        sys.stderr.write(f"no archive of Spark's classes: {done.stderr.decode()[-2000:]}\n")


if __name__ == "__main__":
    main()
