"""What objects of the durable log change in one store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import ObjectRef

__all__ = ("changes_of",)


def changes_of(log: DurableLog, refs: Sequence[ObjectRef], store: str) -> Iterator[StoreChanges]:
    """Yield what objects change in a store, in their order.

    For readers whom the app does not wait for: what its clean-up deletes first is read first,
    before the first changes are yielded.

    Args:
        log: The task's durable log.
        refs: The objects.
        store: Name of the store.

    Raises:
        StateCorruptError: An object is damaged, or gone since.
    """
    if len(refs) == 1:  # what follows a commit: no threads for that
        if changed := log.read(refs[0]).get(store):
            yield changed
        return
    fleeting = [ref for ref in refs if ref.name.endswith(".delta")]
    early = {
        ref: changes.get(store, StoreChanges())
        for ref, changes in zip(fleeting, log.read_all(fleeting), strict=True)
    }
    lasting = log.read_all([ref for ref in refs if ref not in early])
    for ref in refs:
        changed = early.pop(ref) if ref in early else next(lasting).get(store)
        if changed:
            yield changed
