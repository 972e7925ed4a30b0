"""The site: the pages of this folder, and a reference of the public names (`make docs`)."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "kstreams"
author = "The kstreams authors"
release = version_of("kstreams-spark")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "kstreams"
html_static_path = ["static"]
html_js_files = [("accessible.js", {"defer": "defer"})]

myst_heading_anchors = 3
# Links to files of the repository that are no pages, such as examples, stay links to files.
myst_all_links_external = False
suppress_warnings = ["myst.xref_missing", "ref.python"]  # links are checked by a test

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Source"]
default_role = "code"


def setup(app: Sphinx) -> None:
    """Show Mermaid diagrams as their source, since the site loads no scripts from other hosts."""
    app.add_lexer("mermaid", TextLexer)
