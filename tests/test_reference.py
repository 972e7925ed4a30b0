"""The reference pages list the public names."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.reference import pages, with_names


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_reference_page_lists_public_names_of_its_module(page: Path) -> None:
    assert page.read_text("utf-8") == with_names(page), "run python -m devtools.reference"
