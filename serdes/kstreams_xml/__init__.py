"""XML as a format of values, with Python's own types.

Read `xml_serde` first; `ATTRIBUTE` and `CONTENT` mark fields that are not elements. Depends on
lxml, on msgspec and on the public names of `kstreams`; install all by
`pip install 'kstreams-spark[xml]'`.
"""

from __future__ import annotations

from kstreams_xml.elements import ATTRIBUTE, CONTENT, Marker
from kstreams_xml.serde import xml_serde

__all__ = ("ATTRIBUTE", "CONTENT", "Marker", "xml_serde")
