"""The serde of MessagePack, which takes about half the bytes and the time of JSON."""

from __future__ import annotations

from datetime import datetime
from types import UnionType
from typing import Any, TypeVar, overload

from typing_extensions import override

try:
    import msgspec
except ImportError as exc:
    raise ImportError("MessagePack needs msgspec: pip install 'kstreams-spark[msgpack]'") from exc

from kstreams import Serde
from kstreams_msgspec import Coding, DecHook, EncHook, TypedSerde, parts_of, type_name

__all__ = ("MsgpackSerde", "msgpack_serde")

T = TypeVar("T")
"""The type that MessagePack is decoded to."""


@overload
def msgpack_serde(
    type_: type[T],
    *,
    name: str | None = ...,
    strict: bool = ...,
    enc_hook: EncHook | None = ...,
    dec_hook: DecHook | None = ...,
) -> Serde[T]: ...
@overload
def msgpack_serde(
    type_: UnionType,
    *,
    name: str | None = ...,
    strict: bool = ...,
    enc_hook: EncHook | None = ...,
    dec_hook: DecHook | None = ...,
) -> Serde[Any]: ...
def msgpack_serde(
    type_: object,
    *,
    name: str | None = None,
    strict: bool = True,
    enc_hook: EncHook | None = None,
    dec_hook: DecHook | None = None,
) -> Serde[Any]:
    r"""Return a serde of MessagePack for a type; options as for `kstreams_json.json_serde`.

    Objects are maps by the names of their fields: a field with a default may be added or removed. A
    Struct with `array_like=True` is a list instead, without names and in half the bytes: its fields
    are identified by position, so new fields must be added at the end with a default, and no field
    may be removed or moved. Such a serde has another name, so a store cannot confuse both.

    Equal objects have equal bytes, with dictionaries in the order of their keys. Floats keep their
    bits, including NaN. Bytes are bytes; a datetime is a MessagePack timestamp.

    Args:
        type_: A dataclass, `msgspec.Struct`, TypedDict, scalar, or a list, dict, tuple, set or
            union of these; `object` for any value. Declare the type for a union, which type
            checkers cannot infer.
        name: The name recorded with the state instead of the type's name.
        strict: Whether to accept only values of the exact type; False also accepts the text "1" for
            an int.
        enc_hook: Converts an object of an unsupported type to a supported one.
        dec_hook: Converts the decoded value back, given the type and the value.

    Raises:
        TypeError: The type cannot be written as MessagePack, and there are no hooks.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     item: str
        ...     count: int
        >>> orders = msgpack_serde(Order)
        >>> data = orders.serialize(Order("tea", 2))
        >>> data
        b'\x82\xa4item\xa3tea\xa5count\x02'
        >>> orders.deserialize(data)
        Order(item='tea', count=2)
    """
    return MsgpackSerde(type_, name, strict=strict, enc_hook=enc_hook, dec_hook=dec_hook)


class MsgpackSerde(TypedSerde[T]):
    """The result of `msgpack_serde`. Compares by its type and options, and pickles by them."""

    __slots__ = ()
    coding = Coding(
        "msgpack",
        "MessagePack",
        msgspec.msgpack.Encoder,
        msgspec.msgpack.Decoder,
        (bytes, bytearray, datetime),
    )

    @override
    def _default_name(self, type_: object) -> str:
        structs = (p for p in parts_of(self.shape) if isinstance(p, msgspec.inspect.StructType))
        if any(struct.array_like for struct in structs):
            return f"msgpack-by-place[{type_name(type_)}]"
        return super()._default_name(type_)
