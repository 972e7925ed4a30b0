"""Takes what others send by HTTP POST, as an intake.

`.py` is what a user says of it, `signature.py` how senders prove who they are. The rest
needs the extra `serve`: `receiver.py` is the server in a thread, `inbox.py` lies between its event
loop and the runner, behind the guard and within the limits of `kstreams_serve`.
"""

from __future__ import annotations
