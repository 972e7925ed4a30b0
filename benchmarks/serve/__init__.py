"""Throughput of `kstreams serve` while an app commits, and the server's effect on the app."""

from __future__ import annotations
