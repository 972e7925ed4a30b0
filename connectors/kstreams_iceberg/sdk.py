"""The only module that imports pyiceberg."""

from __future__ import annotations

try:
    from pyiceberg import exceptions, manifest
    from pyiceberg.catalog import Catalog, load_catalog
    from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
    from pyiceberg.io.pyarrow import PyArrowFileIO

    # The function `Table.append` writes files with: files of each partition, with statistics.
    from pyiceberg.io.pyarrow import _dataframe_to_data_files as data_files_of
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
except ImportError as error:
    raise ImportError("Iceberg needs its library: pip install 'kstreams-spark[iceberg]'") from error

__all__ = (
    "Catalog",
    "FileIO",
    "InputFile",
    "InputStream",
    "OutputFile",
    "OutputStream",
    "PartitionSpec",
    "PyArrowFileIO",
    "Table",
    "TableMetadata",
    "data_files_of",
    "exceptions",
    "load_catalog",
    "manifest",
)
