"""The files of a commit, without local changes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from devtools.release.progress import ReleaseError
from devtools.release.source import export

PROJECT = '[project]\nname = "{}"\nversion = "1.2.3"\n'


def git(root: Path, *arguments: str) -> None:
    identity = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    times = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    subprocess.run(
        ["git", *arguments],
        cwd=root,
        env={**os.environ, **identity, **times},
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for folder in ("", "native", "stores/kstreams_s3"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "pyproject.toml").write_text(PROJECT.format("kstreams-s3"))
    (root / "LICENSE").write_text("license")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_export_has_only_files_of_the_commit(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "LICENSE").write_text("changed")
    (repository / "stores" / "kstreams_s3" / "untracked.py").write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "earlier.py").write_text("")

    source = export(tmp_path / "out", repository)

    assert source.epoch == 1_700_000_000
    assert len(source.commit) == 40
    found = [path.relative_to(source.folder) for path in source.folder.rglob("*") if path.is_file()]
    assert sorted(map(str, found)) == [
        "LICENSE",
        "native/LICENSE",
        "native/pyproject.toml",
        "pyproject.toml",
        "stores/kstreams_s3/LICENSE",
        "stores/kstreams_s3/pyproject.toml",
    ]
    assert (source.folder / "native" / "LICENSE").read_text() == "license"
    assert "1 files have changes that are not committed" in capsys.readouterr().out


def test_export_outside_a_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    with pytest.raises(ReleaseError, match=r"is not known(.|\n)*Hint: build a release in a clone"):
        export(tmp_path / "out", tmp_path)
