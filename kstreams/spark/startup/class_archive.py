"""An archive of the classes that Spark loads, which halves the processor time of a JVM's start."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import stat
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from kstreams.errors import ForeignDirectoryError
from kstreams.files import cache_folder
from kstreams.spark.startup.spark_home import spark_home
from kstreams.state.versions.private import private_directory

__all__ = ("SILENT_USE", "ClassArchive", "class_archive")

_LOG = logging.getLogger(__name__)
_FOLDER = "classes"
_KEPT = 3
"""The number of retained archives of other Java and Spark versions, 170 MB each."""
_LEFTOVER_SECONDS = 86_400
_DUMP_SECONDS = 900
_SILENT = ("-Xlog:disable", "-Xlog:all=error:stderr")
SILENT_USE = (*_SILENT, "-Xlog:cds=off:stderr")
"""Options of a JVM that uses an archive: it prints only errors, and none about the archive.

Java 25 logs as an error that the archive was created without Spark's module options.
"""
_OF_A_BATCH = b"org/apache/spark/api/python/BasePythonRunner$ReaderInputStream"
"""A class that is loaded when tasks run: a class list without it is from a failed start."""
_OWN_OPTIONS = ("SharedArchiveFile", "ArchiveClassesAtExit", "DumpLoadedClassList", "-Xshare")


@dataclass(frozen=True)
class ClassArchive:
    """The class archive for one Java and one Spark, which may not exist yet.

    A JVM checks Java, its jars and their times itself, and ignores an archive that does not match.
    No archive is created while an app runs: the JVM of the app records the names of its loaded
    classes, and a separate process creates the archive afterward.

    Args:
        java: The path of the `java` program, which also creates the archive.
        folder: The folder of the archive, private to this user.
        key: A digest of the Java and Spark versions, which names the archive's file.
    """

    java: Path
    folder: Path
    key: str

    @property
    def path(self) -> Path:
        """The path of the archive."""
        return self.folder / f"{self.key}.jsa"

    def forget(self) -> None:
        """Remove the archive, because a JVM did not start with it."""
        self.path.unlink(missing_ok=True)

    def is_there(self) -> bool:
        """Return whether the archive is usable: a complete file of this user."""
        try:
            found = self.path.lstat()
        except OSError:
            return False
        return (
            stat.S_ISREG(found.st_mode)
            and found.st_uid == os.geteuid()
            and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )

    def is_awaited(self) -> bool:
        """Return whether there is a recorded class list from which no archive was created yet."""
        return not self.is_there() and any(self.folder.glob(f"{self.key}-*.classes"))

    def use(self) -> str:
        """Return the JVM options to use the archive, and mark the archive as used."""
        with suppress(OSError):
            os.utime(self.path)
        return f"-XX:SharedArchiveFile={self.path} {' '.join(SILENT_USE)}"

    def record(self) -> tuple[str, Path]:
        """Return the JVM options to record the loaded classes, and the file of the class list."""
        classes = self.folder / f"{self.key}-{uuid4().hex}.classes"
        return f"-XX:DumpLoadedClassList={classes} {' '.join(_SILENT)}", classes

    def make(self, classes: Path, class_path: str) -> bool:
        """Create the archive from a class list; return whether the archive exists.

        If another process creates the archive, this one does not. The archive is created
        atomically, which takes about 20 s of processor time. The class list and old files of the
        folder are removed.

        Args:
            classes: The class list of a JVM that has ended.
            class_path: The class path of that JVM.
        """
        lock = os.open(self.folder / "lock", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self.is_there() and _has_run_tasks(classes):
                self._dump(classes, class_path)
            self._remove_old()
        except BlockingIOError:
            _LOG.info("another process makes an archive in %s", self.folder)
        finally:
            os.close(lock)
            classes.unlink(missing_ok=True)
        return self.is_there()

    def _dump(self, classes: Path, class_path: str) -> None:
        draft = self.folder / f"{self.key}-{uuid4().hex}.new"
        command = [
            str(self.java),
            "-Xshare:dump",
            "-Xmx1g",
            "-XX:TieredStopAtLevel=1",
            f"-XX:SharedClassListFile={classes}",
            f"-XX:SharedArchiveFile={draft}",
            *_SILENT,
            "-cp",
            class_path,
        ]
        try:
            done = subprocess.run(  # noqa: S603  # the Java that Spark was started on
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_DUMP_SECONDS,
            )
            if done.returncode or not draft.exists():
                _LOG.info("no archive of classes: %s", done.stderr[-500:].decode(errors="replace"))
                return
            _sync(draft)
            draft.chmod(0o400)
            draft.rename(self.path)
        except (OSError, subprocess.TimeoutExpired) as exc:
            _LOG.info("no archive of classes: %s", exc)
        finally:
            draft.unlink(missing_ok=True)

    def _remove_old(self) -> None:
        """Remove all but the most recently used archives, and old files of killed processes."""
        old = time.time() - _LEFTOVER_SECONDS  # noqa: TID251  # against times of files
        files = sorted(self.folder.iterdir(), key=lambda each: -each.lstat().st_mtime)
        archives = [each for each in files if each.suffix == ".jsa" and each != self.path]
        left = [each for each in files if each.suffix in (".new", ".classes")]
        gone = archives[_KEPT - 1 :] + [each for each in left if each.lstat().st_mtime < old]
        for each in gone:
            each.unlink(missing_ok=True)


def class_archive(java_home: Path) -> ClassArchive | None:
    """Return the class archive for a Java and the Spark of this process, or None.

    There is none if `SPARK_SUBMIT_OPTS` has options for class archives, if Spark's folder is not
    found, if the library's cache cannot be a private folder of this user or its path cannot be part
    of a JVM option, and on systems other than POSIX.
    """
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    if os.name != "posix" or any(option in options for option in _OWN_OPTIONS):
        return None
    spark = spark_home()
    if spark is None:
        return None
    try:
        key = _key(java_home, spark)
        folder = private_directory(cache_folder(), _FOLDER)
    except (ForeignDirectoryError, OSError) as exc:
        _LOG.info("classes are loaded one by one: %s", exc)
        return None
    if re.search(r"[\s\"'\\,%]", str(folder)):
        return None  # it could not be named among options
    return ClassArchive(java_home / "bin" / "java", folder, key)


def _key(java_home: Path, spark: Path) -> str:
    """Return a key that changes with Java and with Spark's jars: their names, sizes and times."""
    jars = sorted((spark / "jars").glob("*.jar"))
    told = []
    for path in (java_home / "bin" / "java", java_home / "lib" / "modules", *jars):
        found = path.stat()
        told.append((str(path), found.st_size, found.st_mtime_ns))
    return sha256(repr(told).encode()).hexdigest()[:24]


def _has_run_tasks(classes: Path) -> bool:
    try:
        return _OF_A_BATCH in classes.read_bytes()
    except OSError:
        return False


def _sync(path: Path) -> None:
    """Flush a file to the disk, so that a power loss cannot leave an incomplete file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
