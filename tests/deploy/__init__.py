"""What `deploy/` has is well-formed, and fits together and the library."""

from __future__ import annotations
