"""An intake of HTTP POST requests.

`webhook.py` has the settings, `signature.py` the checks of senders. The rest needs the extra
`serve`: `receiver.py` is the server in a thread, `inbox.py` passes messages from its event loop to
the runner. The server has the access checks and limits of `kstreams_serve`.
"""

from __future__ import annotations
