"""The effect of a changed parameter on the rows of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kstreams.graph.topology import parameters_in
from kstreams.parameters import MAY_CHANGE, Parameter, Parameters, changes, shown

__all__ = ("misread_by", "misread_stores", "parameter_notes", "recorded_parameters")


def recorded_parameters(shape: Mapping[str, Any], store: str) -> Parameters:
    """Return a store's parameters in a `Topology.shape`; empty for shapes of earlier versions."""
    found: Parameters = parameters_in(shape).get(store, {})
    return found


def misread_by(old: Parameters, new: Parameters) -> str:
    """Return the changes that would make stored rows invalid, as text; empty if there are none.

    Args:
        old: The recorded parameters of a store.
        new: The new parameters.
    """
    found = (change for change in changes(old, new) if change[0] not in MAY_CHANGE)
    return ", ".join(_text(*change) for change in found)


def misread_stores(old: Mapping[str, Parameters], new: Mapping[str, Parameters]) -> Iterator[str]:
    """Yield the stores whose rows would become invalid, each with its changed parameters.

    Args:
        old: The recorded parameters, by store.
        new: The new parameters.
    """
    for store in sorted({*old} & {*new}):
        if misread := misread_by(old[store], new[store]):
            yield f"store {store!r}: {misread}"


def parameter_notes(group: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changed parameters of a group's stores that leave stored rows valid.

    Args:
        group: The name of the group.
        old: The group in the shape of the checkpoint.
        new: The group in the shape of the topology.
    """
    if "parameters" not in old:
        if any(new["parameters"].values()):
            yield (
                f"group {group!r}: the checkpoint has no parameters of the group's stores, such "
                f"as windows and aggregators: this start does not compare them, and records them "
                f"for the next one"
            )
        return
    for store in sorted({*old["parameters"]} & {*new["parameters"]}):
        for name, before, now in changes(old["parameters"][store], new["parameters"][store]):
            if name in MAY_CHANGE:
                effect = MAY_CHANGE[name][_is_lower(before, now)]
                yield f"store {store!r}: {_text(name, before, now)}: {effect}"


def _is_lower(before: Parameter, now: Parameter) -> bool:
    return isinstance(before, int) and isinstance(now, int) and now < before


def _text(name: str, before: Parameter, now: Parameter) -> str:
    short = name.removesuffix("_ms").replace(".", " ")
    return f"{short} was {shown(name, before)}, now {shown(name, now)}"
