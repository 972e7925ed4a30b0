"""The list of licenses from an SBOM."""

from __future__ import annotations

import pytest

from devtools.release.bill import licenses
from devtools.release.progress import ReleaseError


def component(name: str, *found: dict[str, object]) -> dict[str, object]:
    return {"name": name, "version": "1.0", "licenses": list(found)}


def test_licenses_are_a_row_for_each_dependency_in_order() -> None:
    sbom = {
        "components": [
            component("zstandard", {"license": {"id": "BSD-3-Clause"}}),
            component("arrow", {"expression": "Apache-2.0 OR MIT"}),
            component("both", {"license": {"id": "MIT"}}, {"license": {"name": "Own\n license"}}),
            component("kstreams_s3"),
            component("protobuf"),
            component("kstreams-spark"),
        ]
    }

    assert licenses(sbom).splitlines()[4:] == [
        "| arrow | 1.0 | Apache-2.0 OR MIT |",
        "| both | 1.0 | MIT; Own license |",
        "| protobuf | 1.0 | BSD-3-Clause |",
        "| zstandard | 1.0 | BSD-3-Clause |",
    ]


def test_license_text_as_a_name_is_shortened() -> None:
    sbom = {"components": [component("long", {"license": {"name": "word " * 100}})]}

    (row,) = licenses(sbom).splitlines()[4:]
    assert len(row) < 90
    assert row.endswith("... |")


def test_dependencies_without_license_are_refused() -> None:
    sbom = {"components": [component("b"), component("a"), component("c", {"expression": "MIT"})]}

    with pytest.raises(ReleaseError, match="no license is known for a, b\nHint: "):
        licenses(sbom)
