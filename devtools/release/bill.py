"""The components of an installation with all extras: SBOM (CycloneDX), and list of licenses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from devtools.release.environments import clean_environment
from devtools.release.progress import ReleaseError, run, step
from devtools.release.tools import WORK, tool

__all__ = ("licenses", "write_bill")

_OURS = "kstreams-"
_LICENSES = {"datasketches": "Apache-2.0", "protobuf": "BSD-3-Clause"}
"""Licenses of packages whose metadata the tool does not recognize, by their files LICENSE."""


def write_bill(python: Path, index: str, version: str) -> list[Path]:
    """Install all extras, and write `sbom.json` and `licenses.md` into `build/release`.

    Args:
        python: The Python of the environment.
        index: The address of the local index.
        version: The version of the release.

    Returns:
        The files.

    Raises:
        ReleaseError: The installation fails, or a component has no license.
    """
    sbom, page = WORK / "sbom.json", WORK / "licenses.md"
    with (
        step("list the components of an installation with all extras"),
        clean_environment("bill", python, index) as environment,
    ):
        environment.install([f"kstreams-spark[all]=={version}"])
        options = ["--output-reproducible", "--output-format", "JSON", "--output-file", str(sbom)]
        run([tool("cyclonedx-py"), "environment", *options, environment.python], "cyclonedx-py")
    page.write_text(licenses(json.loads(sbom.read_text())))
    return [sbom, page]


def licenses(sbom: Mapping[str, Any]) -> str:
    """Return a table with the license of each component, except for those of this project.

    Args:
        sbom: A CycloneDX document.

    Raises:
        ReleaseError: A component has no license; the error lists these components.
    """
    rows = {
        str(each["name"]): (
            str(each["version"]),
            "; ".join(_names(each.get("licenses", ()))) or _LICENSES.get(str(each["name"]), ""),
        )
        for each in sbom["components"]
        if not str(each["name"]).lower().replace("_", "-").startswith(_OURS)
    }
    if lacking := [name for name, (_, found) in rows.items() if not found]:
        raise ReleaseError(
            f"no license is known for {', '.join(sorted(lacking))}",
            "read the sources of the package; without a license, it must not be a dependency",
        )
    lines = ["# Licenses of dependencies", "", "| package | version | license |", "|---|---|---|"]
    lines += [f"| {name} | {rows[name][0]} | {rows[name][1]} |" for name in sorted(rows)]
    return "\n".join(lines) + "\n"


def _names(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the licenses of a component: expressions, SPDX ids, or names in its own words."""
    names = dict.fromkeys(
        str(each.get("expression") or each["license"].get("id") or each["license"].get("name", ""))
        for each in found
    )
    for name in names:
        first = " ".join(name.split())  # some packages have the complete text as the name
        if first:
            yield first if len(first) <= 60 else f"{first[:57]}..."
