"""Cost of joins in one process, without Spark or a broker: records per processor second."""

from __future__ import annotations
