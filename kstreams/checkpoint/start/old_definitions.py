"""Checks that the old definition in a migration is the definition of the stored rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kstreams.checkpoint.parameter_notes import misread_by, recorded_parameters
from kstreams.parameters import Parameters
from kstreams.state.stores.spec import StoreSpec

__all__ = ("difference", "wrong_old")

_FINGERPRINT = re.compile(r"\b[0-9a-f]{16}\b")
"""The fingerprint of a schema in the name of a serde."""


def wrong_old(
    old: StoreSpec[object], recorded: Mapping[str, Any], shape: Mapping[str, Any], name: str
) -> Iterator[str]:
    """Yield why the rows of an old store cannot be read by its definition in `migrate`.

    Args:
        old: The old definition in `migrate`.
        recorded: The checkpoint's shape.
        shape: The topology's shape.
        name: The name of the new store.
    """
    schema = next(p["stores"][old.name] for p in recorded.values() if old.name in p["stores"])
    stored = recorded_parameters(recorded, old.name)
    wrong = difference(schema, old.schema()) or misread_by(stored, old.parameters())
    if wrong:
        yield (
            f"the old definition of store {old.name!r} in migrate={{...}} differs from the "
            f"stored one: {wrong}"
        )
    elif old.kind.has_grid and old.kind.grid is None:
        regridded = misread_by(_windows_in(stored), _windows_in(recorded_parameters(shape, name)))
        if regridded:
            yield (
                f"store {name!r} has other windows than store {old.name!r} ({regridded}): give "
                f"the old definition in migrate={{...}} its windows, window_store(..., windows=...)"
            )


def _windows_in(parameters: Parameters) -> Parameters:
    return {name: value for name, value in parameters.items() if name.startswith("windows")}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the differences of two store schemas as text; empty if they are equal."""
    return ", ".join(
        _changed(part, old.get(part), new.get(part))
        for part in sorted({*old, *new})
        if old.get(part) != new.get(part)
    )


def _changed(part: str, old: object, new: object) -> str:
    """Describe the change of the entry `part` of a store's schema, as text."""
    before, now = (_FINGERPRINT.findall(str(name)) for name in (old, new))
    if before and now and before != now:
        return f"the schema of the {part} has changed, from {old} to {new}"
    return f"{part} was {old}, now {new}"
