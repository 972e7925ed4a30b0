"""Output rows until the end of a batch: some MiB in memory, larger output in a file."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

import pyarrow as pa

__all__ = ("OutputRows",)


class OutputRows:
    """A sequence of tables that moves to a file when it exceeds some MiB.

    The file has no name, so it disappears with the process. Drained tables map the file into
    memory, and the system may drop the pages again.

    Args:
        folder: The folder of the file, on a disk; the system's temporary folder by default.
        most: The maximum bytes in memory.

    Attributes:
        count: The number of rows.
        size: The number of bytes that were added since the last drain.
    """

    def __init__(self, folder: Path | None = None, *, most: int) -> None:
        self._folder = folder
        self._most = most
        self._tables: list[pa.Table] = []
        self._held = 0
        self._file: IO[bytes] | None = None
        self._begins: list[int] = []  # the file position of each spilled block
        self.count = 0
        self.size = 0

    def append(self, table: pa.Table) -> None:
        """Add rows.

        Raises:
            OSError: The disk is full, or rejects the write.
        """
        if not table.num_rows:
            return
        self._tables.append(table)
        size = table.nbytes
        self._held += size
        self.size += size
        self.count += table.num_rows
        if self._held > self._most:
            self._spill()

    def cut(self, count: int) -> None:
        """Keep only the first `count` rows.

        Raises:
            OSError: The file cannot be read or truncated.
        """
        if count >= self.count:
            return
        kept: list[pa.Table] = []
        surplus = self.count - count
        tables = self._tables
        while surplus:
            table = tables.pop() if tables else self._take_back()
            if table.num_rows > surplus:
                kept.append(table.slice(0, table.num_rows - surplus))
            surplus -= min(table.num_rows, surplus)
        self._tables = [*tables, *kept]
        self._held = sum(table.nbytes for table in self._tables)
        self.count = count

    def drain(self) -> pa.Table | None:
        """Return all rows, and clear them; None without rows.

        Raises:
            OSError: The file cannot be read.
        """
        tables = [*self._mapped(), *self._tables]
        self._tables = []
        self._held = self.count = self.size = 0
        return pa.concat_tables(tables) if tables else None

    def _spill(self) -> None:
        """Move the rows in memory to the end of the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # see drain
        table = pa.concat_tables(self._tables)
        self._begins.append(self._file.seek(0, os.SEEK_END))
        with pa.ipc.new_stream(pa.PythonFile(self._file, "w"), table.schema) as writer:
            writer.write_table(table)
        self._tables, self._held = [], 0

    def _mapped(self) -> list[pa.Table]:
        """Return the rows of the file, as views of its memory-mapped pages."""
        file, self._file = self._file, None
        begins, self._begins = self._begins, []
        if file is None:
            return []
        with file:
            if not begins:
                return []
            file.flush()
            pages = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return [pa.ipc.open_stream(pages.slice(begin)).read_all() for begin in begins]

    def _take_back(self) -> pa.Table:
        """Return the last table of the file, after removing it from the file."""
        if self._file is None:
            raise IndexError("the spill file has no rows")
        begin = self._begins.pop()
        self._file.seek(begin)
        table = pa.ipc.open_stream(self._file.read()).read_all()
        self._file.truncate(begin)
        return table
