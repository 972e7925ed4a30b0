"""Web pages of what `kstreams serve` knows: for people, in any browser, with or without scripts.

`site.py` is where to begin: the pages and their roles. A page is a function that takes a `Visit`
(`visits.py`) and returns a `Page`, a template with what it shows; `rendering.py` makes HTML of it,
`live.py` sends the regions of it that change. What a page asks of an app is in `app_facts.py`.
Nothing here reads another host, and a page never does what cannot be undone: it shows the command.
"""

from __future__ import annotations
