"""The store of foreign-key joins: left rows by foreign key and own key."""

from __future__ import annotations
