"""The app of the kill tests with additional results in tables of Delta and Iceberg.

Run it by `python -m tests.kill.lake_app FOLDER`, as `tests.kill.counting_app`;
`KILL_LAKES` is the folder of the tables.
"""

from __future__ import annotations

import os
from pathlib import Path

from kstreams import Topology
from kstreams_delta import DeltaTable
from kstreams_iceberg import IcebergTable
from tests.kill.counting_app import counting, main
from tests.support.sinks.iceberg_catalogs import NAME, catalog_of
from tests.support.sinks.lake_contract import Total

__all__ = ("PLACE", "build", "delta_in")

PLACE = "KILL_LAKES"


def delta_in(folder: Path) -> str:
    """Return the path of the Delta table."""
    return str(folder / "delta")


def build(name: str) -> Topology:
    folder = Path(os.environ[PLACE])
    builder, _, counts = counting(name)
    delta: DeltaTable[str, int] = DeltaTable(delta_in(folder), Total, row=Total)
    iceberg: IcebergTable[str, int] = IcebergTable(
        NAME, Total, row=Total, catalog=catalog_of(folder)
    )
    builder.add_sink("delta", delta, counts)
    builder.add_sink("iceberg", iceberg, counts)
    return builder.build()


if __name__ == "__main__":
    main(build)
