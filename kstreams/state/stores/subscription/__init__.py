"""Who has named a foreign key: left rows by it and by their own key."""

from __future__ import annotations
