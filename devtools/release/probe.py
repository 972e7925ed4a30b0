"""A script that runs in an installation: it imports all packages, and checks their folder.

It has no import from this repository. Arguments: the version, and the installed extra; empty for
none.
"""

from __future__ import annotations

import sys
import sysconfig
from importlib import import_module
from importlib.metadata import distributions
from pkgutil import iter_modules


def main(version: str, extra: str) -> None:
    """Import public modules and packages; check their versions, and that `platlib` has them."""
    for module in iter_modules(import_module("kstreams").__path__):
        import_module(f"kstreams.{module.name}")
    ours = {}
    for each in distributions():
        name = str(each.metadata["Name"]).lower().replace("_", "-")
        if name.startswith("kstreams-"):
            ours[name] = each
    for name, each in ours.items():
        assert each.version == version, f"{name} has the version {each.version}"
        package = "kstreams" if name == "kstreams-spark" else name.replace("-", "_")
        place = str(import_module(package).__file__)
        assert place.startswith(sysconfig.get_path("platlib")), f"{package} comes from {place}"
        if extra == "all" or name == f"kstreams-{extra}":
            for entry in each.entry_points:
                entry.load()
    if extra in ("kafka", "all"):
        from kstreams_kafka.native.library import library

        assert library(True) is not None, "the compiled loops cannot be loaded"


main(*sys.argv[1:])
