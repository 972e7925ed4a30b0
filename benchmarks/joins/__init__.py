"""What joins cost in one process: records a processor second, without Spark and a broker."""

from __future__ import annotations
