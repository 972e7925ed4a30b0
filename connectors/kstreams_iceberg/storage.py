"""The catalog of an Iceberg table and its failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from pyarrow.fs import FileSelector, FileType
from typing_extensions import override

from kstreams.errors import SinkError
from kstreams_iceberg.sdk import Catalog, FileIO, PyArrowFileIO, Table, exceptions, load_catalog
from kstreams_rows.retrying import Faults, hidden, retried
from kstreams_rows.staging import Files

__all__ = ("IcebergFiles", "Storage")

T = TypeVar("T")
"""The type of an operation's result."""

_KINDS = tuple(
    each
    for each in vars(exceptions).values()
    if isinstance(each, type) and issubclass(each, Exception)
)
_PASSING = (
    exceptions.CommitFailedException,
    exceptions.CommitStateUnknownException,
    exceptions.ServerError,
    exceptions.ServiceUnavailableError,
    exceptions.WaitingForLockException,
)


class Storage:
    """The catalog of a table.

    Args:
        table: The table's name in the catalog, with its namespace.
        name: The catalog's name in pyiceberg's configuration.
        properties: Properties of the catalog; they override the configuration.
        give_up_after: The maximum time to retry.
    """

    def __init__(
        self, table: str, name: str, properties: Mapping[str, str], give_up_after: timedelta
    ) -> None:
        self.table = table
        self._name = name
        self._properties = dict(properties)
        self._give_up_after = give_up_after
        self._catalog: Catalog | None = None
        self._faults = Faults(
            "Iceberg",
            (*_KINDS, *_database_errors(), OSError),
            _may_pass,
            lambda exc: type(exc).__name__,
            lambda exc: hidden(str(exc), _secrets(properties)),
            "check catalog=, the table, and the permissions of the credentials.",
        )

    def retried(self, work: Callable[[], T], forget: Callable[[], None] = lambda: None) -> T:
        """Return the result of an operation; retry temporary failures.

        Args:
            work: The operation; it must be safe to repeat.
            forget: Called after each failure, to drop the open table.

        Raises:
            SinkUnavailableError: The catalog or the storage did not answer within `give_up_after`.
            SinkError: One of them rejected the operation; a retry would be rejected too.
        """

        def forget_all() -> None:
            self._catalog = None
            forget()

        return retried(work, self._faults, self._give_up_after, forget_all)

    @property
    def catalog(self) -> Catalog:
        """The catalog, which is reopened after a failure."""
        if self._catalog is None:
            self._catalog = self._opened()
        return self._catalog

    def _opened(self) -> Catalog:
        try:
            return load_catalog(self._name, **self._properties)
        except (ValueError, exceptions.NotInstalledError) as exc:
            why = hidden(str(exc), _secrets(self._properties))
            raise SinkError(
                f"cannot open the Iceberg catalog: {why}",
                hint="set type and uri in catalog=, and install the packages that this type needs.",
            ) from None

    def open(self) -> Table | None:
        """Return the newest version of the table; None if the table does not exist."""
        try:
            return self.catalog.load_table(self.table)
        except exceptions.NoSuchTableError:
            return None

    def there(self) -> Table:
        """Return the newest version of the table.

        Raises:
            SinkError: The table does not exist.
        """
        found = self.open()
        if found is None:
            raise SinkError(
                f"there is no table {self.table} in the catalog",
                hint="another client has deleted the table: restart the app, which creates it "
                "again.",
            )
        return found


class IcebergFiles(Files):
    """The storage of a table's files.

    A relative name is a path below the table's location, such as the manifest of an attempt; any
    other name is a full location, such as that of a data file.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._io: FileIO = table.io
        self._root = table.location().rstrip("/")
        arrow = table.io if isinstance(table.io, PyArrowFileIO) else None
        self._arrow = arrow or PyArrowFileIO(table.io.properties)

    @override
    def write(self, name: str, data: bytes) -> None:
        with self._io.new_output(self._at(name)).create(overwrite=True) as stream:
            stream.write(data)

    @override
    def read(self, name: str) -> bytes:
        with self._io.new_input(self._at(name)).open() as stream:
            return bytes(stream.read())

    @override
    def list(self, folder: str) -> list[str]:
        scheme, host, path = PyArrowFileIO.parse_location(self._at(folder))
        system = self._arrow.fs_by_scheme(scheme, host)
        found = system.get_file_info(FileSelector(path, allow_not_found=True))
        return sorted(f"{folder}/{each.base_name}" for each in found if each.type is FileType.File)

    @override
    def exists(self, name: str) -> bool:
        return self._io.new_input(self._at(name)).exists()

    @override
    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._io.delete(self._at(name))

    def _at(self, name: str) -> str:
        return name if "://" in name or name.startswith("/") else f"{self._root}/{name}"


def _may_pass(exc: Exception) -> bool:
    if isinstance(exc, OSError):
        return not isinstance(exc, (FileNotFoundError, PermissionError, NotADirectoryError))
    return isinstance(exc, (*_PASSING, *_database_errors()))


def _database_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of SQL catalogs; empty if SQLAlchemy is not installed."""
    try:
        from sqlalchemy.exc import DBAPIError  # noqa: PLC0415  # of those catalogs alone
    except ImportError:
        return ()
    return (DBAPIError,)


def _secrets(properties: Mapping[str, str]) -> list[str]:
    return [value for key, value in properties.items() if key not in ("type", "py-io-impl")]
