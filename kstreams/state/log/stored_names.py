"""The names of fields in stored documents that differ from the names in the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("STORED_NAMES", "with_attribute_names", "with_stored_names")

STORED_NAMES = {
    "checkpoint_id": "incarnation",
    "commit_effects": "lets_go",
    "epoch_number": "generation",
    "epoch_numbers": "generations",
    "log_name": "line",
    "state_name": "scope",
    "version_id": "lineage",
}
"""The field names in documents by attribute; documents keep the names of the first versions."""


_ATTRIBUTES = {stored: attribute for attribute, stored in STORED_NAMES.items()}


def with_attribute_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document's fields, renamed to the attribute names that the code uses."""
    return {_ATTRIBUTES.get(name, name): value for name, value in fields.items()}


def with_stored_names(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes, renamed to the field names that stored documents use."""
    return {STORED_NAMES.get(name, name): value for name, value in attributes.items()}
