"""Views: reading an app's stores from outside, while it runs or when it is gone.

Read `View` first. Nothing here takes the app's lock, or writes to its checkpoint.
"""

from __future__ import annotations
