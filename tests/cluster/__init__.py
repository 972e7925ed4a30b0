"""Apps on executors in processes apart from the driver."""

from __future__ import annotations
