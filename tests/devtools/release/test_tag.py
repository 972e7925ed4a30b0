"""A tag is released only if versions, changelog and notes agree with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.release.progress import ReleaseError
from devtools.release.tag import check_tag
from devtools.workspace import ROOT, core

CORE = """
[project]
name = "kstreams-spark"
version = "{}"
[tool.hatch.metadata.hooks.custom.extras]
"""


def repository(
    root: Path,
    *,
    native: str = "1.2.3",
    heading: str = "## [1.2.3] - 2026-01-02",
    notes: str = "1.2.3",
) -> Path:
    """Write the files of a repository that a tag depends on."""
    (root / "native").mkdir()
    (root / "docs" / "releases").mkdir(parents=True)
    (root / "pyproject.toml").write_text(CORE.format("1.2.3"))
    text = f'[project]\nname = "kstreams-kafka-native"\nversion = "{native}"\n'
    (root / "native" / "pyproject.toml").write_text(text)
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n")
    (root / "docs" / "releases" / f"{notes}.md").write_text("")
    return root


def test_tag_equal_to_all_package_versions_is_accepted(tmp_path: Path) -> None:
    assert check_tag("v1.2.3", repository(tmp_path)) == "1.2.3"


@pytest.mark.parametrize(
    ("tag", "changed", "problem"),
    [
        ("1.2.3", {}, "the tag 1.2.3 does not begin with v"),
        ("v1.2.4", {}, "kstreams-spark has the version 1.2.3"),
        ("v1.2.3", {"native": "1.2.2"}, "kstreams-kafka-native has the version 1.2.2"),
        ("v1.2.3", {"heading": "## [Unreleased]: 1.2.3"}, "CHANGELOG.md has no heading"),
        ("v1.2.3", {"heading": "## [1.2.30] - 2026-01-02"}, "CHANGELOG.md has no heading"),
        ("v1.2.3", {"notes": "1.2.2"}, "docs/releases/1.2.3.md is missing"),
    ],
)
def test_tag_that_differs_from_a_package_version_is_refused(
    tmp_path: Path, tag: str, changed: dict[str, str], problem: str
) -> None:
    with pytest.raises(ReleaseError) as caught:
        check_tag(tag, repository(tmp_path, **changed))

    assert problem in str(caught.value)
    assert "Hint: run `python -m devtools.workspace version" in str(caught.value)


def test_version_of_this_repository_has_changelog_notes() -> None:
    version = core().project["version"]

    assert (ROOT / "docs" / "releases" / f"{version}.md").exists()
