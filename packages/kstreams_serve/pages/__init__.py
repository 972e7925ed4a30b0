"""The web pages of `kstreams serve`, for any browser, with or without scripts.

Start with `site.py`: the pages and their roles. A page is a function that takes a `Visit`
(`visits.py`) and returns a `Page`, a template with its content; `rendering.py` renders it to HTML,
`live.py` sends its changed regions. `app_facts.py` has the data of an app for pages. Nothing here
contacts another host, and a page never does anything irreversible: it shows the command instead.
"""

from __future__ import annotations
