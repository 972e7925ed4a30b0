"""The write-back cache of an attempt: rows as objects or bytes, over a state backend."""

from __future__ import annotations
