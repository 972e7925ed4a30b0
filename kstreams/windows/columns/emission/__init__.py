"""When results go on, on whole columns."""

from __future__ import annotations
