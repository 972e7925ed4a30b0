"""Rendering of templates, and the filters that templates may apply to values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from kstreams.quoting import one_line, safe_text
from kstreams_admin.moments import iso
from kstreams_serve.pages import texts
from kstreams_serve.pages.assets import asset_url

__all__ = ("regions_of", "render")

_REGION = re.compile(r"(<!--live:([a-z0-9-]+)-->.*?<!--/live:\2-->)", re.DOTALL)
_AGE = re.compile(r"(<time data-age[^>]*>)[^<]*")
_NAME_LENGTH = 200
_TEXT_LENGTH = 20_000


def render(template: str, content: Mapping[str, object]) -> str:
    """Return the HTML of a template with its content; all values are escaped."""
    return _environment().get_template(template).render(content)


def regions_of(html: str) -> dict[str, str]:
    """Return the regions of a page that live updates replace, by name.

    A region includes its marker comments, so the browser compares equal lists of nodes and keeps
    the elements that did not change. Elements that show an age are empty: the browser computes the
    age.
    """
    return {name: _AGE.sub(r"\1", region) for region, name in _REGION.findall(html)}


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True,
        auto_reload=False,
        loader=PackageLoader("kstreams_serve.pages"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(
        age=texts.age,
        amount=texts.amount,
        clock_time=texts.clock_time,
        count=texts.count,
        dollars=texts.dollars,
        iso=iso,
        moment=texts.moment,
        name=_name,
        near=texts.near,
        query=_query,
        quoted=shlex.quote,
        rate=texts.rate,
        seconds=texts.seconds,
        share=texts.share,
        size=texts.size,
        step=_step,
        text=_text,
    )
    made.globals.update(asset=asset_url)
    return made


def _name(text: object) -> str:
    """Return an untrusted name on one line; invisible characters become escapes."""
    return one_line(str(text), _NAME_LENGTH)


def _text(text: object) -> str:
    """Return an untrusted text of several lines; invisible characters become escapes."""
    return safe_text(str(text), _TEXT_LENGTH)


def _step(name: object) -> str:
    """Return a name, quoted as a segment of a URL path."""
    return quote(str(name), safe="")


def _query(parts: Mapping[str, object]) -> str:
    """Return a query string with its question mark, without values that are None."""
    given = {name: str(value) for name, value in parts.items() if value is not None}
    return f"?{urlencode(given, quote_via=quote)}" if given else ""
