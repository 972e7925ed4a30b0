"""The recipe for conda-forge has the packages, requirements and version of pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

from devtools.workspace import ROOT, core, packages

RECIPE: dict[str, Any] = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
OUTPUTS = {each["package"]["name"]: each for each in RECIPE["outputs"]}
NAMES = {"typing-extensions": "typing_extensions"}
"""Names of distributions that conda-forge has under another name."""


def test_recipe_has_version_of_packages() -> None:
    assert RECIPE["context"]["version"] == core().project["version"]


def test_recipe_installs_core_and_packages_of_plain_install() -> None:
    plain = {Requirement(each).name for each in core().dependencies}
    folders = [each.folder for each in packages() if each.distribution in plain]

    commands = OUTPUTS["kstreams-spark"]["build"]["script"]
    found = [Path(each.split()[-1]) for each in commands]
    expected = [folder.relative_to(ROOT) for folder in folders]
    assert found[0] == Path()
    assert sorted(found[1:]) == sorted(expected)


def test_recipe_requires_the_dependencies_of_the_core() -> None:
    required = [Requirement(each) for each in core().dependencies]
    expected = {
        (NAMES.get(each.name, each.name), each.specifier)
        for each in required
        if not each.name.startswith("kstreams-")
    }

    run = OUTPUTS["kstreams-spark"]["requirements"]["run"]
    found = {
        (one.name, one.specifier) for one in (Requirement(each) for each in run if "$" not in each)
    }
    assert found == expected
    python = str(core().project["requires-python"]).removeprefix(">=")
    assert RECIPE["context"]["python_min"] == python
