"""Design pages and archived decision records have one form, and name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.named_files import ROOT, missing_files, missing_links, missing_tests

DESIGN = ROOT / "docs" / "design"
INDEX = DESIGN / "index.md"
PAGES = sorted(page for page in DESIGN.glob("*.md") if page != INDEX)
RECORDS = sorted((ROOT / "docs" / "adr").glob("*.md"))

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_RULE = re.compile(r"^(\d+)\. ", re.MULTILINE)
_STATUS = re.compile(r"^Status: archived\. Replaced by (.+?)\.\n\n", re.MULTILINE | re.DOTALL)
_DESIGN_LINK = re.compile(r"\]\(\.\./design/([\w-]+\.md)\)")


def _name(page: Path) -> str:
    return page.stem


def test_design_and_decision_pages_exist() -> None:
    assert PAGES
    assert RECORDS


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_design_page_has_a_title_and_four_sections_in_order(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.startswith("# ")
    assert _HEADING.findall(text) == ["Summary", "Rules", "Figures", "Rejected"]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_design_page_numbers_its_rules_from_one(page: Path) -> None:
    rules = page.read_text("utf-8").partition("## Rules\n")[2].partition("## Figures\n")[0]
    numbers = [int(number) for number in _RULE.findall(rules)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


@pytest.mark.parametrize("page", [*PAGES, INDEX], ids=_name)
def test_design_page_names_files_and_tests_that_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert missing_files(text) == set()
    assert missing_tests(text) == set()
    assert missing_links(page) == set()


def test_design_index_links_to_every_page_once() -> None:
    rows = re.findall(r"^\| \[.+?\]\(([\w-]+\.md)\) \|", INDEX.read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == [page.name for page in PAGES]


@pytest.mark.parametrize("record", RECORDS, ids=_name)
def test_decision_record_follows_the_template(record: Path) -> None:
    text = record.read_text("utf-8")
    assert text.startswith(f"# {record.name[:4]}. ")
    assert _HEADING.findall(text) == ["Context", "Decision", "Consequences", "Rejected"]


@pytest.mark.parametrize("record", RECORDS, ids=_name)
def test_decision_record_links_to_the_design_page_that_replaces_it(record: Path) -> None:
    status = _STATUS.search(record.read_text("utf-8"))
    assert status is not None
    linked = _DESIGN_LINK.findall(status[1])
    assert linked
    assert [name for name in linked if not (DESIGN / name).is_file()] == []
    assert missing_links(record) == set()
