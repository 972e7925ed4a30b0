"""Catalogs in files, and tables as other clients read and write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog

__all__ = ("NAME", "catalog_in", "catalog_of", "opened", "rows_of")

NAME = "shop.totals"


def catalog_of(folder: Path, warehouse: str = "") -> dict[str, str]:
    """Return the properties of the catalog of a folder."""
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": warehouse or f"file://{folder}",
    }


def catalog_in(folder: Path, warehouse: str = "", **properties: str) -> dict[str, str]:
    """Make a catalog with a namespace; return its properties."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {**catalog_of(folder, warehouse), **properties}
    with opened(found) as catalog:
        catalog.create_namespace_if_not_exists("shop")
    return found


@contextmanager
def opened(properties: Mapping[str, str]) -> Iterator[Catalog]:
    """Open a catalog."""
    catalog = load_catalog("default", **properties)
    try:
        yield catalog
    finally:
        catalog.close()


def rows_of(properties: Mapping[str, str], name: str = NAME) -> list[dict[str, Any]]:
    """Return a table's rows; none if there is no table."""
    with opened(properties) as catalog:
        if not catalog.table_exists(name):
            return []
        rows: list[dict[str, Any]] = catalog.load_table(name).scan().to_arrow().to_pylist()
        return rows
