"""Serdes that a user of the command line names by a text, such as `protobuf:FILE#MESSAGE`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kstreams.serde.base import Serde
from kstreams.serde.framed import TopicPart

__all__ = ("SerdeByText", "SerdeRequest")


@dataclass(frozen=True)
class SerdeRequest:
    """A text from the command line that names a serde, and the purpose of the serde.

    Args:
        text: The text after the name and a colon, such as a file; empty without one.
        inner: Returns the serde of another text, for serdes that contain other serdes. Raises
            `ValueError` if the text does not name a serde.
        topic: The topic whose records are read or written, if there is one.
        part: The part of the records that the serde converts: key or value.
        registry: The address of the schema registry, if the command line has one.
    """

    text: str
    inner: Callable[[str], Serde[Any]]
    topic: str | None = None
    part: TopicPart = "value"
    registry: str | None = None


@dataclass(frozen=True)
class SerdeByText:
    """A package's serde for the command line, registered by name in `kstreams.serde_texts`.

    The command line reads and prints values as text, numbers and bools if the serde's `type_token`
    is one of these, otherwise as JSON: with the methods `to_json(value)` and `from_json(content)`
    of the serde, if it has them.

    Args:
        usage: The form of the text, such as `protobuf:FILE#MESSAGE`.
        about: The purpose, in a few words.
        make: Creates the serde. The command prints a `ValueError`, `OSError` or `ImportError`.
        recorded: Returns a serde that reads values, given the serde name that is recorded with a
            store; None if the name is not enough.
    """

    usage: str
    about: str
    make: Callable[[SerdeRequest], Serde[Any]]
    recorded: Callable[[str], Serde[Any] | None] = lambda name: None
