"""The public modules can be imported in an installation without extras."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from devtools.workspace import core, packages

IMPORT_ALL = """
import importlib, pkgutil, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

missing = set(sys.argv[1:])
sys.meta_path.insert(0, Missing())
import kstreams
for module in pkgutil.iter_modules(kstreams.__path__):
    importlib.import_module(f"kstreams.{module.name}")
"""


@pytest.mark.slow
def test_public_modules_are_imported_without_libraries_of_extras() -> None:
    missing = _libraries_of_extras()
    assert {"starlette", "confluent_kafka", "boto3", "typer"} <= missing

    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *missing], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def _libraries_of_extras() -> set[str]:
    """Return the import packages that only extras install."""
    plain = {canonicalize_name(Requirement(each).name) for each in core().dependencies}
    for each in ("pyspark", "pyarrow", "numpy"):
        plain |= {canonicalize_name(Requirement(one).name) for one in requires(each) or ()}
    extra = {
        canonicalize_name(Requirement(each).name)
        for package in (core(), *packages())
        for each in package.requirements
    }
    return {
        module
        for module, found in packages_distributions().items()
        if {canonicalize_name(each) for each in found} <= extra - plain
        if not module.startswith("kstreams")
    }
