"""The agreement of a tag, the version of the packages, the changelog and the release notes."""

from __future__ import annotations

import re
from pathlib import Path

from devtools import workspace
from devtools.release.progress import ReleaseError

__all__ = ("check_tag",)


def check_tag(tag: str, root: Path = workspace.ROOT) -> str:
    """Check that a tag can be released, and return its version.

    Args:
        tag: The tag, such as `v1.2.3`.
        root: The repository.

    Raises:
        ReleaseError: A package has another version, or the changelog or the notes of the version
            are missing; the error lists all problems.
    """
    version = tag.removeprefix("v")
    problems = [] if tag == f"v{version}" else [f"the tag {tag} does not begin with v"]
    projects = [workspace.core(root), workspace.compiled(root), *workspace.packages(root)]
    problems += [
        f"{each.distribution} has the version {each.project['version']}"
        for each in projects
        if each.project["version"] != version
    ]
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        problems.append(f"CHANGELOG.md has no heading `## [{version}] - YYYY-MM-DD`")
    notes = root / "docs" / "releases" / f"{version}.md"
    if not notes.exists():
        problems.append(f"{notes.relative_to(root)} is missing")
    if problems:
        raise ReleaseError(
            "\n".join([f"{tag} cannot be released", *problems]),
            f"run `python -m devtools.workspace version {version}`, and see docs/releasing.md",
        )
    return version
