"""The store of the records that `suppress` holds back; read-only for users."""

from __future__ import annotations
