"""Forecast the cost and growth of an app from its retained commits.

`forecasts.py` reads commits; `restore_speed.py` measures the speed of a restore.
"""

from __future__ import annotations
