"""The sources of a release: the files of one commit, without untracked files and local changes."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

from devtools.release.progress import ReleaseError, run, say
from devtools.workspace import ROOT, compiled, packages

__all__ = ("Source", "export")

_NO_CLONE = "build a release in a clone of the repository"


class Source:
    """The files of a commit in a folder.

    Attributes:
        folder: The folder.
        commit: The full id of the commit.
        epoch: The commit's time, in seconds: SOURCE_DATE_EPOCH of the builds.
    """

    def __init__(self, folder: Path, commit: str, epoch: int) -> None:
        self.folder = folder
        self.commit = commit
        self.epoch = epoch

    def projects(self) -> list[Path]:
        """Return the folders of the projects: core, packages, compiled loops."""
        others = [package.folder for package in packages(self.folder)]
        return [self.folder, *others, compiled(self.folder).folder]


def export(folder: Path, root: Path = ROOT) -> Source:
    """Write the files of the current commit into a folder, and the license into each project.

    Args:
        folder: The folder; its earlier content is deleted.
        root: The repository.

    Raises:
        ReleaseError: The root is in no repository.
    """
    commit = _git(root, "rev-parse", "HEAD").strip()
    if changed := _git(root, "status", "--porcelain", "--untracked-files=no"):
        say(f"{len(changed.splitlines())} files have changes that are not committed: not built")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = subprocess.run(["git", "archive", commit], cwd=root, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    source = Source(folder, commit, int(_git(root, "log", "-1", "--format=%ct", commit)))
    for project in source.projects()[1:]:
        shutil.copyfile(folder / "LICENSE", project / "LICENSE")
    return source


def _git(root: Path, *arguments: str) -> str:
    try:
        return run(["git", *arguments], "git", cwd=root)
    except ReleaseError as exc:
        raise ReleaseError(f"the commit of {root} is not known\n{exc.problem}", _NO_CLONE) from exc
