"""Real servers on this machine: processes on loopback, or containers where Docker answers."""

from __future__ import annotations
