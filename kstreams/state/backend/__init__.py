"""The two contracts in bytes, of backends and of durable storage, and the backend in memory."""

from __future__ import annotations
