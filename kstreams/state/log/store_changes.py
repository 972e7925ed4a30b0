"""The changes of one store, read from objects of the durable log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import ObjectRef

__all__ = ("changes_of",)


def changes_of(log: DurableLog, refs: Sequence[ObjectRef], store: str) -> Iterator[StoreChanges]:
    """Yield the changes of a store in several objects, in the order of the objects.

    All deltas are read before the first changes are yielded, because cleanup deletes deltas and
    packs first and does not wait for readers.

    Args:
        log: The durable log of the task.
        refs: The references of the objects.
        store: The name of the store.

    Raises:
        StateCorruptError: An object is damaged or missing.
    """
    if len(refs) == 1:  # the usual case after a commit: no threads needed
        if changed := log.read(refs[0]).get(store):
            yield changed
        return
    fleeting = [ref for ref in refs if ref.part is not None or ref.name.endswith(".delta")]
    early = {
        ref: changes.get(store, StoreChanges())
        for ref, changes in zip(fleeting, log.read_all(fleeting), strict=True)
    }
    lasting = log.read_all([ref for ref in refs if ref not in early])
    for ref in refs:
        changed = early.pop(ref) if ref in early else next(lasting).get(store)
        if changed:
            yield changed
