"""Checks that the types of connected nodes match, and that stores match their records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, get_origin

from kstreams.graph.checks.window_keys import ResultKeys
from kstreams.graph.nodes import (
    AnyNode,
    FunctionSink,
    LoopEndNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SinkTarget,
    SourceNode,
    StdoutSink,
)
from kstreams.graph.tokens import accepts, show, without_none
from kstreams.serde.base import Serde
from kstreams.serde.windowed_key import WindowedKeySerde, windowed_type, windows_text
from kstreams.topic import Topic, TopicChoice
from kstreams.windowed import Windowed

__all__ = ("type_problems",)

_Types = tuple[object, object]


def type_problems(ordered: list[AnyNode], keys: ResultKeys) -> Iterator[str]:
    """Yield a problem for each type mismatch between nodes, or between a node and its store.

    Args:
        ordered: All nodes, parents first. Types that are not known at run time are not checked.
        keys: The serdes of the windowed keys that each node forwards.
    """
    outputs = _outputs(ordered, keys)
    yield from _types(ordered, outputs, keys)
    yield from _store_types(ordered, outputs)


def _outputs(ordered: list[AnyNode], known: ResultKeys) -> dict[str, _Types]:
    """Return the key and value types that each node forwards; `object` if a type is unknown."""
    types: dict[str, _Types] = {}
    for node in ordered:
        match node:
            case SourceNode(topic=topic):
                types[node.name] = _topic_types(topic)
            case RepartitionNode():
                types[node.name] = _edge_types(node)
            case LoopNode(key=key_serde, value=value_serde):
                types[node.name] = _token(key_serde), _token(value_serde)
            case ProcessorNode(types_out=(key, value)):
                if key in (object, Any) and node.keeps_key:
                    # Whether a null key is forwarded is unknown: an inner join drops it.
                    keys = {without_none(types[parent][0]) for parent in node.parents}
                    key = keys.pop() if len(keys) == 1 else object
                elif get_origin(key) is Windowed and len(known[node.name]) == 1:
                    key = _token(known[node.name][0])
                types[node.name] = (key, value)
            case SinkNode() | LoopEndNode():
                pass
    return types


def _token(serde: object) -> object:
    if isinstance(serde, WindowedKeySerde):
        return windowed_type(serde)
    return serde.type_token if isinstance(serde, Serde) else object


def _topic_types(topic: Topic[Any, Any]) -> _Types:
    key, value = _token(topic.key), _token(topic.value)
    key = key if topic.null_keys == "drop" else _optional(key)
    return key, value if topic.nulls == "drop" else _optional(value)


def _edge_types(edge: RepartitionNode) -> _Types:
    key, value = _token(edge.key), _token(edge.value)
    key = key if edge.null_keys == "drop" else _optional(key)
    return key, value if edge.nulls == "drop" else _optional(value)


def _optional(token: object) -> object:
    if token is object or token is type(None):
        return token
    try:
        return token | None  # type: ignore[operator]  # a runtime type token
    except TypeError:
        return object


def _inputs(node: AnyNode, parent: str) -> tuple[_Types, ...]:
    """Return the key and value types that a node accepts from a parent, by input."""
    match node:
        case SinkNode():
            return (_sink_types(node.target),)
        case RepartitionNode():
            return (_edge_types(node),)
        case ProcessorNode():
            return node.types_from(parent)
        case LoopEndNode(loop=loop):
            return ((_token(loop.key), _token(loop.value)),)
        case SourceNode() | LoopNode():
            return ()


def _sink_types(target: SinkTarget) -> _Types:
    match target:
        case Topic():
            return _topic_types(target)
        case TopicChoice():
            value = _token(target.value)
            return _token(target.key), value if target.nulls == "drop" else _optional(value)
        case StdoutSink() | FunctionSink():
            return object, object
        case _:  # a `Sink` has no serdes: only type checkers know its types
            return object, object


def _types(ordered: list[AnyNode], outputs: dict[str, _Types], keys: ResultKeys) -> Iterator[str]:
    for node in ordered:
        for parent in node.parents:
            for wanted in _inputs(node, parent):
                for part, expected, actual in zip(
                    ("key", "value"), wanted, outputs[parent], strict=True
                ):
                    if not accepts(expected, actual):
                        yield (
                            f"node {node.name!r} takes a {part} of type {show(expected)}, "
                            f"but {parent!r} forwards {show(actual)}"
                            f"{_way_on(node, part, expected, actual, keys[parent])}"
                        )


def _way_on(
    node: AnyNode,
    part: str,
    expected: object,
    actual: object,
    keys: Sequence[WindowedKeySerde[object]],
) -> str:
    """Return a hint that follows the description of a type mismatch; empty if there is no hint.

    There is a hint for windowed keys at a sink or repartition edge, and for an edge that would
    accept the records if their key or value (`part`) were never None.
    """
    if part == "key" and get_origin(actual) is Windowed and not isinstance(node, ProcessorNode):
        windows = windows_text(keys[0].windows) if keys else "windows"
        return f": give it key=windowed(..., {windows}), or select another key before it"
    if not isinstance(node, RepartitionNode) or not accepts(expected, without_none(actual)):
        return ""
    option = "null_keys" if part == "key" else "nulls"
    return f": pass {option}='pass' to the repartition, or drop records without a {part} before it"


def _store_types(ordered: list[AnyNode], outputs: dict[str, _Types]) -> Iterator[str]:
    """Yield a problem for each node whose records do not match the serdes of its store."""
    for node in ordered:
        if not isinstance(node, ProcessorNode):
            continue
        kept = [("key", spec, spec.key) for spec in node.keyed]
        kept += [("value", spec, spec.value) for spec in node.valued]
        for (part, spec, serde), parent in product(kept, node.parents):
            wanted = _token(serde)
            actual = without_none(outputs[parent][part == "value"])
            if not accepts(wanted, actual):
                yield (
                    f"node {node.name!r}: store {spec.name!r} has a {part} of type {show(wanted)} "
                    f"({part}={serde.name}), but {parent!r} forwards {show(actual)}: give the "
                    f"store the {part} serde of the stream"
                )
