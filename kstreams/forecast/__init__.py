"""What an app will cost and grow to, by what its commits say that it has done.

`forecasts.py` reads commits, `restore_speed.py` measures how fast state comes back.
"""

from __future__ import annotations
