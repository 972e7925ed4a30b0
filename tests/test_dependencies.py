"""Packages import only their declared dependencies, and depend on each other in one direction.

`.importlinter` has the contracts inside `kstreams`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from configparser import ConfigParser
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from devtools.workspace import ROOT, Package, core, packages
from tests.imports import PACKAGES, graph, imported, modules

_BY_NAME = {package.folder.name: package for package in packages()}
_DISTRIBUTIONS = {package.distribution: name for name, package in _BY_NAME.items()}

_FACES_OF_PACKAGES = {
    ("kstreams", "kstreams_kafka"),
    ("kstreams.intakes", "kstreams_intake"),
    ("kstreams.intakes", "kstreams_webhook"),
    ("kstreams.io", "kstreams_kafka"),
    ("kstreams.sources", "kstreams_files"),
    ("kstreams.sources", "kstreams_generated_logs"),
    ("kstreams.testing", "kstreams_intake"),
    ("kstreams.testing", "kstreams_testing"),
    ("kstreams.views", "kstreams_client"),
    ("kstreams.views", "kstreams_topic_view"),
}
"""Public modules of the core whose names are defined in other packages."""

_UNDECLARED = {
    ("kstreams_testing", "hypothesis"),  # a test suite for users that has it
    ("kstreams", "pandas"),  # of a user that has it
    ("kstreams_iceberg", "sqlalchemy"),  # an error of catalogs in SQL, of a user that has them
}
"""Imports of a package from a distribution that it does not require."""

_ONLY_IN = {
    "grpc": ("kstreams_serve.grpc", "kstreams_bigtable"),
    "grpc_health": ("kstreams_serve.grpc",),
    "jinja2": ("kstreams_serve.pages",),
    "opentelemetry": ("kstreams_otel.export", "kstreams_otel.watcher"),
    "py4j": ("kstreams.spark",),
    "pyspark": ("kstreams.spark", "kstreams.application.app"),
}
"""Distributions, and the only modules that import them."""


def test_packages_import_each_other_as_declared() -> None:
    wrong = [
        (module, other)
        for module in modules()
        for own in [_top(module)]
        for other in imported(module)
        for its in [_top(other)]
        if its in PACKAGES and its not in _dependencies(own)
        if (module, its) not in _FACES_OF_PACKAGES
    ]
    assert wrong == []


def test_core_imports_other_packages_only_in_public_modules() -> None:
    found = {
        (module, _top(other))
        for module in modules()
        if _top(module) == "kstreams"
        for other in imported(module)
        if _top(other) in _BY_NAME
    }
    assert found == _FACES_OF_PACKAGES
    plain = {Requirement(each).name for each in core().dependencies}
    assert {_BY_NAME[name].distribution for _, name in found} <= plain


def test_packages_imported_by_kstreams_testing_do_not_import_spark() -> None:
    """`kstreams.testing` is below `kstreams.spark`, and so are the packages that it imports."""
    known, seen = graph(), set[str]()
    waiting = ["kstreams_intake.testing"]
    while waiting:
        name = waiting.pop()
        if name not in seen and name.startswith("kstreams_"):
            waiting.extend(known[name])
        seen.add(name)
    assert [name for name in seen if name.startswith("kstreams.spark")] == []


def test_packages_depend_on_each_other_in_one_direction() -> None:
    order = {name: _dependencies(name) - {name, "kstreams"} for name in _BY_NAME}
    TopologicalSorter(order).prepare()


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.extra)
def test_plugins_depend_on_shared_packages_only(package: Package) -> None:
    """A plugin needs no other plugin. Packages without plugins are shared: `kstreams_rows`."""
    shared = {
        name
        for name, other in _BY_NAME.items()
        if other.folder.parent.name == "packages" or not other.project.get("entry-points")
    }
    own = package.folder.name
    assert _dependencies(own) - {own, "kstreams"} <= shared


@pytest.mark.long
@pytest.mark.parametrize("package", PACKAGES)
def test_package_imports_only_distributions_that_it_requires(package: str) -> None:
    required = _required(package) | _required("kstreams", extras=False)
    wrong = {
        (module, other)
        for module in modules()
        if _top(module) == package
        for other in imported(module)
        for its in [_top(other)]
        if its not in PACKAGES and its not in sys.stdlib_module_names
        if (package, its) not in _UNDECLARED and not its.startswith("types_")
        if not required & _distributions(its)
    }
    assert wrong == set()


@pytest.mark.parametrize("distribution", _ONLY_IN)
def test_distribution_is_imported_only_in_allowed_modules(distribution: str) -> None:
    places = _ONLY_IN[distribution]
    found = [
        module for module in modules() if distribution in {_top(each) for each in imported(module)}
    ]
    wrong = [
        module
        for module in found
        if not any(module == place or module.startswith(f"{place}.") for place in places)
    ]
    assert found != []
    assert wrong == []


def test_packages_import_core_from_internal_modules_and_not_from_public_ones() -> None:
    config = ConfigParser()
    config.read(ROOT / ".importlinter")
    faces = set(config["importlinter:contract:faces"]["forbidden_modules"].split())
    internal = {name for name in _BY_NAME if _BY_NAME[name].folder.parent.name == "packages"}
    wrong = [
        (module, other)
        for module in modules()
        if _top(module) in internal
        for other in imported(module) & faces
    ]
    assert faces
    assert wrong == []


def _top(module: str) -> str:
    return module.partition(".")[0]


def _distributions(package: str) -> set[str]:
    """Return the installed distributions that have a package."""
    return {canonicalize_name(each) for each in _installed().get(package, ())}


@cache
def _installed() -> Mapping[str, list[str]]:
    return packages_distributions()


@cache
def _dependencies(name: str) -> frozenset[str]:
    """Return the packages of the library that a package of it declares as dependencies."""
    if name not in _BY_NAME:
        return frozenset({"kstreams", "kstreams_daemon"})
    found = {Requirement(each).name for each in _BY_NAME[name].dependencies}
    return frozenset(
        {name, "kstreams", *(_DISTRIBUTIONS[each] for each in found & {*_DISTRIBUTIONS})}
    )


@cache
def _required(name: str, *, extras: bool = True) -> frozenset[str]:
    """Return the distributions that a package requires, directly or indirectly."""
    package = _BY_NAME.get(name, core())
    waiting = [
        Requirement(each) for each in (package.requirements if extras else package.dependencies)
    ]
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        distribution = canonicalize_name(requirement.name)
        if distribution == "kstreams-spark" or (
            distribution in _DISTRIBUTIONS and name == "kstreams"
        ):
            continue
        for extra in ("", *requirement.extras):
            if (distribution, extra) not in seen:
                seen.add((distribution, extra))
                found.add(distribution)
                waiting += _requirements(distribution, extra)
    return frozenset(found)


def _requirements(distribution: str, extra: str) -> list[Requirement]:
    try:
        found = map(Requirement, requires(distribution) or ())
    except PackageNotFoundError:
        return []  # of another platform, or an extra that is not locked
    return [each for each in found if not each.marker or each.marker.evaluate({"extra": extra})]
