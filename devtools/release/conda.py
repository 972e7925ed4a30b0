"""The check of the recipe for conda-forge: it is parsed and rendered, but not built."""

from __future__ import annotations

from devtools.release.progress import ReleaseError, run
from devtools.release.tools import tool
from devtools.workspace import ROOT

__all__ = ("RECIPE", "check_recipe")

RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"

_RENDER = """
import sys
from rattler_build import Stage0Recipe, VariantConfig

pins = VariantConfig.from_yaml("c_stdlib: [sysroot]\\nc_stdlib_version: ['2.17']\\n")
for variant in Stage0Recipe.from_file(sys.argv[1]).render(pins):
    print(variant.recipe.package.name, variant.recipe.package.version)
"""
"""Renders the recipe with pins that conda-forge has in its own configuration."""


def check_recipe(version: str) -> None:
    """Check that the recipe can be rendered, and that its packages have a version.

    Raises:
        ReleaseError: The recipe has an error or another version.
    """
    hint = f"correct {RECIPE.relative_to(ROOT)}"
    printed = run([tool("python"), "-c", _RENDER, RECIPE], "conda recipe", hint=hint)
    expected = {f"{name} {version}" for name in ("kstreams-spark", "kstreams-kafka-native")}
    if set(printed.splitlines()) != expected:
        raise ReleaseError(
            f"the conda recipe has {', '.join(printed.splitlines())}, "
            f"expected {', '.join(sorted(expected))}",
            "set the version in packaging/conda/recipe.yaml",
        )
