"""Serdes that a text on a command line means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kstreams.serde.base import Serde
from kstreams.serde.framed import TopicPart

__all__ = ("SerdeByText", "SerdeRequest")


@dataclass(frozen=True)
class SerdeRequest:
    """What somebody has typed to name a serde, and what it is for.

    Args:
        text: What stands behind the name and a colon, such as a file; empty where nothing does.
        inner: Returns the serde that another text means: for serdes around others. Raises
            `ValueError` where it means none.
        topic: The topic whose records are read or written, if there is one.
        part: What of them.
        registry: The address of a schema registry, if one was named.
    """

    text: str
    inner: Callable[[str], Serde[Any]]
    topic: str | None = None
    part: TopicPart = "value"
    registry: str | None = None


@dataclass(frozen=True)
class SerdeByText:
    """What a package offers to the command line, by a name in `kstreams.serde_texts`.

    Values are typed in and shown as text, numbers and bools where the serde's `type_token` is such,
    else as JSON: by the serde's own methods `to_json(value)` and `from_json(content)`, where it
    has them.

    Args:
        usage: How it is called, such as `protobuf:FILE#MESSAGE`.
        about: What it is for, in a few words.
        make: Makes the serde. `ValueError`, `OSError` and `ImportError` are shown.
        recorded: Returns what reads values of a serde whose name is recorded with a store; None
            where the name is not enough.
    """

    usage: str
    about: str
    make: Callable[[SerdeRequest], Serde[Any]]
    recorded: Callable[[str], Serde[Any] | None] = lambda name: None
