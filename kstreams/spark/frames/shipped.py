"""Transport of settings and of the user's modules to Python workers, for functions on DataFrames.

Classic sessions send files to executors, as for apps. On Spark Connect, streaming queries cannot
use the artifacts of a session (`addArtifacts`). Pickling user code by value misses imports inside
functions, and does not support generated classes such as those of protobuf. So on Spark Connect the
pickled function contains the modules, as files.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import sys
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from kstreams.checkpoint.start.app_settings import Packages
from kstreams.errors import CompileError
from kstreams.scratch import scratch_directory
from kstreams.spark.frames.sessions import is_connect
from kstreams.spark.package_archive import PackageArchive, package_archive
from kstreams.spark.packages import send, ship
from kstreams.spark.worker import drop_spark_archives, leave_quietly, load_once

__all__ = ("Carried", "Shipped")

T = TypeVar("T")
"""The type of the carried object."""

_MAX_BYTES = 8_000_000
"""The maximum compressed bytes of modules, which Spark sends with each function in each batch."""


@dataclass(frozen=True)
class Shipped:
    """The user's modules for a function that runs in workers.

    Attributes:
        archive: The modules as part of the pickled function; None without modules, or if Spark has
            sent them as a file.
        sent: The name under which Spark has unpacked the modules on executors; None if it has not.
    """

    archive: PackageArchive | None = field(repr=False)
    sent: str | None = None

    @classmethod
    def of(cls, packages: Packages, session: SparkSession) -> Shipped:
        """Return the packages of this process; a classic session sends them to executors.

        Args:
            packages: Modules or their names; `"auto"` for all modules that this process has
                imported from outside the installation.
            session: The session in which the modules are needed.

        Raises:
            CompileError: A package was not found, or the packages exceed 100 MB; on Spark Connect,
                8 MB compressed.
        """
        if not is_connect(session):
            return cls(None, next(iter(ship(session, packages)), None))
        archive = package_archive(packages)
        if archive is not None and len(archive.data) > _MAX_BYTES:
            raise CompileError(
                f"the user's packages have {len(archive.data) / 1e6:.0f} MB compressed, expected "
                f"at most {_MAX_BYTES / 1e6:.0f} MB: Spark Connect sends them with each batch",
                hint="list only the packages that executors need, packages=['my_package']; or "
                "install the packages on the cluster and pass packages=().",
            )
        return cls(archive)

    @property
    def name(self) -> str | None:
        """The name of the modules, which changes with their content."""
        return self.sent if self.archive is None else self.archive.name

    def add(self) -> None:
        """Load the modules in this worker, once; unload modules of another version."""
        if self.name == _PRESENT.name:
            return
        _PRESENT.forget()
        if self.archive is not None:
            _PRESENT.unpack(self.archive)
        elif self.sent is not None:
            _PRESENT.use(self.sent, Path(SparkFiles.getRootDirectory()) / self.sent)


@dataclass(frozen=True)
class Carried(Generic[T]):
    """A pickled object, whose classes may be in the user's modules, for a function in workers.

    Attributes:
        data: The pickled object; None if it is in a file that Spark has sent.
        digest: The digest of the data, which is also the name of the file.
        shipped: The modules that the object needs when it is unpickled.
    """

    data: bytes | None = field(repr=False)
    digest: str
    shipped: Shipped = field(repr=False)

    @classmethod
    def of(cls, data: bytes, shipped: Shipped) -> Carried[T]:
        """Return the object for pickled data and the modules that the data need."""
        return cls(data, hashlib.sha256(data).hexdigest(), shipped)

    def get(self) -> T:
        """Return the unpickled object; each worker unpickles it once."""
        leave_quietly()
        drop_spark_archives()
        self.shipped.add()
        found: T = load_once(f"{self.digest}-{self.shipped.name}", self._read)
        return found

    def _read(self) -> bytes:
        return Path(SparkFiles.get(self.digest)).read_bytes() if self.data is None else self.data

    def in_file(self, session: SparkSession) -> Carried[T]:
        """Return a copy whose data is in a file, which a classic session sends."""
        if self.data is not None:
            send(session, self.digest, self.data)
        return replace(self, data=None)


@dataclass
class _Present:
    """The user's modules that `Shipped.add` has loaded in this process, not in its parent.

    Attributes:
        name: The `Shipped.name` of the modules; None before any are loaded.
        folder: The folder on the import path with the modules.
        held: Removes the folder of unpacked modules when it is closed.
    """

    name: str | None = None
    folder: Path | None = None
    held: ExitStack = field(default_factory=ExitStack)

    def unpack(self, archive: PackageArchive) -> None:
        folder = self.held.enter_context(scratch_directory()) / "packages"
        with zipfile.ZipFile(io.BytesIO(archive.data)) as content:
            content.extractall(folder)
        self.use(archive.name, folder)

    def use(self, name: str, folder: Path) -> None:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        self.name, self.folder = name, folder

    def forget(self) -> None:
        if self.folder is None:
            return
        for name, module in list(sys.modules.items()):
            if _lies_in(module, self.folder):
                del sys.modules[name]
        sys.path.remove(str(self.folder))
        sys.path_importer_cache.pop(str(self.folder), None)
        self.held.close()
        self.name = self.folder = None


_PRESENT = _Present()


def _lies_in(module: ModuleType | None, folder: Path) -> bool:
    places = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or ())]
    return any(place is not None and Path(place).is_relative_to(folder) for place in places)
