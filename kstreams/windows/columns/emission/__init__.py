"""When results are forwarded, by columns."""

from __future__ import annotations
