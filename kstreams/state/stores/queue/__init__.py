"""Queue stores: waiting records of `join_as_of`, in the order of time."""

from __future__ import annotations
