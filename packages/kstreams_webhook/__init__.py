"""An intake of HTTP POST requests.

`webhook.py` has the settings, `signature.py` the checks of senders. The rest needs the extra
`serve`: `receiver.py` is the server in a thread, `inbox.py` is between its event loop and the
runner, within the guard and the limits of `kstreams_serve`.
"""

from __future__ import annotations
