"""A script that runs in an installation: it imports all packages, and prints its findings as JSON.

It has no import from this repository. Arguments: the version, and the installed extra; empty for
none.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from importlib import import_module
from importlib.metadata import distributions


def main(version: str, extra: str) -> None:
    """Import the packages, and check their version and place."""
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
        plain = extra in ("", "all") or name == f"kstreams-{extra}"
        for entry in each.entry_points if plain and extra else ():
            entry.load()
    compiled = "kstreams-kafka-native" in ours
    if compiled:
        from kstreams_kafka.native.library import library

        assert library(True) is not None, "the compiled loops cannot be loaded"
    print(json.dumps({"packages": len(ours), "compiled": compiled}))


main(*sys.argv[1:])
