"""`docs/llms.txt` lists each page of the documentation once, by its title."""

from __future__ import annotations

import re
from pathlib import Path

_DOCS = Path(__file__).parents[1] / "docs"
_INDEX = _DOCS / "llms.txt"
_FOLDERS = ("", "connectors/", "how-to/", "migration/")
_LINK = re.compile(r"^- \[(?P<title>[^]]+)\]\((?P<page>[^)]+)\): \S", re.MULTILINE)
LINKS = [(found["page"], found["title"]) for found in _LINK.finditer(_INDEX.read_text())]


def test_links_lead_to_existing_pages_with_their_titles() -> None:
    for page, title in LINKS:
        assert (_DOCS / page).read_text().startswith(f"# {title}\n"), page


def test_each_page_for_users_is_listed_once() -> None:
    written = {
        page.relative_to(_DOCS).as_posix()
        for folder in _FOLDERS
        for page in _DOCS.glob(f"{folder}*.md")
    }
    listed = [page for page, _ in LINKS]
    assert len(listed) == len(set(listed))
    assert written - {"index.md"} <= set(listed)


def test_file_has_the_form_of_llms_txt() -> None:
    lines = _INDEX.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert lines[2].startswith("> ")
    assert all(
        _LINK.match(line) for line in lines[lines.index("## Start") :] if line and line[0] != "#"
    )
