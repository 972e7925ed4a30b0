"""Executors in separate processes import the user's modules."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from devtools.spark_home import LOCAL_CLUSTER
from tests.cluster.user_project import expected_counts, make_project, run_project

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CASES = {
    "packages found, RocksDB": ("auto", "rocksdb"),
    "packages named, Memory": (["shop_words"], "memory"),
}


@pytest.mark.parametrize(("packages", "backend"), CASES.values(), ids=CASES)
def test_executors_import_the_package_of_the_user(
    tmp_path: Path, packages: str | Sequence[str], backend: str
) -> None:
    found = run_project(
        [sys.executable],
        make_project(tmp_path),
        packages=packages,
        backend=backend,
        master=LOCAL_CLUSTER,
    )

    assert found.counts == expected_counts()
    assert len(found.executors) == 2
    assert [f for f in found.files if not re.search(r"/kstreams_packages_\w+/shop_words/", f)] == []
