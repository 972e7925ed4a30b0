"""ARCHITECTURE.md names files that exist, and is short."""

from __future__ import annotations

import re

from tests.named_files import ROOT, missing_files, missing_folders

PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_files_named_in_architecture_page_exist() -> None:
    assert missing_files(PAGE) == set()


def test_folders_named_in_architecture_page_exist() -> None:
    assert missing_folders(PAGE.partition("## Invariants")[2]) == set()


def test_architecture_page_lists_all_packages() -> None:
    packages = {path.parent.name for path in (ROOT / "kstreams").glob("*/__init__.py")}
    built_on_the_core = {path.parent.name for path in ROOT.glob("packages/*/__init__.py")}
    listed = set(re.findall(r"`(\w+)/?`", PAGE))
    assert (packages | built_on_the_core) - listed == set()


def test_architecture_page_has_at_most_120_lines() -> None:
    assert len(PAGE.splitlines()) <= 120
