"""Real servers on this machine: processes on loopback, or containers if Docker is available."""

from __future__ import annotations
