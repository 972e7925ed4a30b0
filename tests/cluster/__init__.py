"""Apps on executors that are processes apart from the driver."""

from __future__ import annotations
