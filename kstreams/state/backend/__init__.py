"""The contracts of state backends and of durable storage, and the in-memory backend."""

from __future__ import annotations
