"""The distribution `kstreams` of another project in the same folder is an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from kstreams.other_kstreams import refuse_other_kstreams

ROOT = Path(__file__).parents[2]

THEIRS = {
    "__init__.py": "from .backends.kafka import Consumer\nfrom .streams import Stream\n",
    "backends/__init__.py": "",
    "backends/kafka.py": "from ..batch import BatchEvent\n\nclass Consumer: pass\n",
    "batch.py": "class BatchEvent: pass\n",
    "streams.py": "class Stream: pass\n",
}
"""The modules of the other project whose names matter, and its imports of them."""


@pytest.mark.parametrize(
    ("metadata", "version"),
    [
        ("kstreams-0.34.6.dist-info", "0.34.6"),
        ("KStreams-1.0rc1.dist-info", "1.0rc1"),
        ("kstreams-0.34.6.egg-info", "0.34.6"),
        ("kstreams-0.34.6-py3.11.egg-info", "0.34.6"),
    ],
)
def test_metadata_of_other_distribution_is_refused(
    tmp_path: Path, metadata: str, version: str
) -> None:
    (tmp_path / metadata).mkdir()

    with pytest.raises(ImportError) as caught:
        refuse_other_kstreams(tmp_path)

    text = str(caught.value)
    assert f"{tmp_path} also has kstreams {version}, a distribution" in text
    assert "`pip uninstall --yes kstreams kstreams-spark`" in text
    assert (caught.value.name, caught.value.path) == ("kstreams", str(tmp_path / "kstreams"))


@pytest.mark.parametrize(
    "metadata",
    [
        "kstreams_spark-0.1.0.dist-info",
        "kstreams_s3-0.1.0.dist-info",
        "kstreams",
        "kstreams-0.34.6",
        "my_kstreams-0.34.6.dist-info",
    ],
)
def test_metadata_of_own_and_unrelated_distributions_is_accepted(
    tmp_path: Path, metadata: str
) -> None:
    (tmp_path / metadata).mkdir()

    refuse_other_kstreams(tmp_path)


def test_packages_in_an_archive_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "packages.zip").write_bytes(b"")

    refuse_other_kstreams(tmp_path / "packages.zip")


@pytest.mark.slow
@pytest.mark.parametrize("order", ["theirs first", "ours first"])
@pytest.mark.parametrize(
    "statement", ["import kstreams", "from kstreams import TEXT", "import kstreams_cli.program"]
)
def test_import_with_other_distribution_fails_in_both_orders_of_installation(
    tmp_path: Path, order: str, statement: str
) -> None:
    for install in (_theirs, _ours) if order == "theirs first" else (_ours, _theirs):
        install(tmp_path)

    said = _run(tmp_path, statement)

    assert "ImportError: kstreams-spark cannot be used" in said
    assert "also has kstreams 0.34.6, a distribution of another project" in said
    assert "pip uninstall --yes kstreams kstreams-spark" in said


@pytest.mark.slow
def test_import_after_removal_of_other_distribution_states_the_repair(tmp_path: Path) -> None:
    _ours(tmp_path)
    (tmp_path / "kstreams" / "__init__.py").unlink()

    said = _run(tmp_path, "from kstreams.streams import Streams")

    assert "ImportError: kstreams-spark is damaged" in said
    assert "pip install kstreams-spark" in said


def _ours(site: Path) -> None:
    for package in (ROOT / "kstreams", ROOT / "packages" / "kstreams_cli"):
        shutil.copytree(package, site / package.name, dirs_exist_ok=True)
    (site / "kstreams_spark-0.1.0.dist-info").mkdir()


def _theirs(site: Path) -> None:
    for name, text in THEIRS.items():
        path = site / "kstreams" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (site / "kstreams-0.34.6.dist-info").mkdir()


def _run(site: Path, statement: str) -> str:
    """Run a statement that must fail, with packages of a folder, and return the traceback."""
    script = f"import sys; sys.path[:0] = {[str(site), sysconfig.get_path('purelib')]}\n{statement}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=site, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr
