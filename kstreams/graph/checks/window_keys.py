"""Check that windowed keys are written with a serde of their windows.

A serde that writes only the start of a window computes the end from its own windows: the keys of
other windows get wrong ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kstreams.graph.nodes import (
    AnyNode,
    LoopEndNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
)
from kstreams.graph.tokens import accepts, show
from kstreams.processors.window_emission import WindowedKeySupplier
from kstreams.serde.windowed_key import WindowedKeySerde, windows_text
from kstreams.topic import Topic, TopicChoice

__all__ = ("ResultKeys", "result_keys", "window_key_problems")

_Keys = WindowedKeySerde[object]

ResultKeys = Mapping[str, Sequence[WindowedKeySerde[object]]]
"""The serdes of the windowed keys that each node forwards; none if they are not known."""


def window_key_problems(ordered: Sequence[AnyNode], keys: ResultKeys) -> Iterator[str]:
    """Yield a problem for each place that would write windowed keys with other windows or keys.

    Args:
        ordered: All nodes, parents first. Keys whose windows are not known are not checked.
        keys: The serdes of the windowed keys that each node forwards.
    """
    for node in ordered:
        for place, serde in _written(node):
            for parent in node.parents:
                for known in keys[parent]:
                    if problem := _problem(known, serde, place):
                        yield f"node {node.name!r}: {parent!r} forwards {problem}"


def result_keys(ordered: Sequence[AnyNode]) -> ResultKeys:
    """Return the serdes of the windowed keys that each node forwards.

    Args:
        ordered: All nodes, parents first.
    """
    found: dict[str, tuple[_Keys, ...]] = {}
    for node in ordered:
        match node:
            case SourceNode(topic=topic):
                found[node.name] = _windowed(topic.key)
            case RepartitionNode(key=key) | LoopNode(key=key):
                found[node.name] = _windowed(key)
            case ProcessorNode(supplier=supplier):
                above = [key for parent in node.parents for key in found[parent]]
                kept = tuple(dict.fromkeys(above)) if node.keeps_key else ()
                found[node.name] = _of_results(supplier) or kept
            case SinkNode() | LoopEndNode():
                pass
    return found


def _of_results(supplier: object) -> tuple[_Keys, ...]:
    if isinstance(supplier, type) or not isinstance(supplier, WindowedKeySupplier):
        return ()
    key = supplier.windowed_key
    return () if key is None else (key,)


def _written(node: AnyNode) -> Iterator[tuple[str, _Keys]]:
    """Yield each serde of windowed keys with which a node writes records, and the place."""
    places: list[tuple[str, object]] = []
    match node:
        case SinkNode(target=Topic() as topic):
            places = [(f"topic {topic.name!r}", topic.key)]
        case SinkNode(target=TopicChoice() as choice):
            places = [("its topics", choice.key)]
        case RepartitionNode(key=key):
            places = [(f"repartition {node.name!r}", key)]
        case LoopEndNode(loop=loop):
            places = [(f"loop {loop.name!r}", loop.key)]
        case ProcessorNode():
            places = [(f"store {spec.name!r}", spec.key) for spec in node.keyed]
        case SinkNode() | SourceNode() | LoopNode():
            pass
    for place, serde in places:
        yield from ((place, windowed) for windowed in _windowed(serde))


def _windowed(key: object) -> tuple[_Keys, ...]:
    return (key,) if isinstance(key, WindowedKeySerde) else ()


def _problem(known: _Keys, serde: _Keys, place: str) -> str:
    """Return the end of a problem's text; empty if the serde writes the keys correctly."""
    if not serde.writes_windows_of(known):
        return (
            f"keys of {windows_text(known.windows)}, but the key serde of {place} has "
            f"{windows_text(serde.windows)}: give it key=windowed(..., windows) with the windows "
            "of the aggregation"
        )
    token, wanted = known.inner.type_token, serde.inner.type_token
    if not accepts(wanted, token):
        return (
            f"keys of type Windowed[{show(token)}], but the key serde of {place} is for "
            f"Windowed[{show(wanted)}]: give it key=windowed(...) with the serde of the keys"
        )
    return ""
