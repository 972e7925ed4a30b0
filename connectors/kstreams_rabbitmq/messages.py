"""AMQP 1.0 messages of streams: bodies as bytes, application properties as headers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rstream import AMQPMessage, amqp_decoder

__all__ = ("Message", "message_of", "written")

_PROPERTIES, _DATA, _SEQUENCE, _VALUE = 0x74, 0x75, 0x76, 0x77
_SIZES = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
"""The bytes of a value, by the upper 4 bits of its type; other values contain their size."""


@dataclass(frozen=True)
class Message:
    """A decoded message.

    Attributes:
        body: The body.
        headers: The application properties, by name: text unchanged, other values as JSON.
        wrong: Why the message cannot be read; empty if it can.
    """

    body: bytes = b""
    headers: Mapping[str, bytes | None] | None = None
    wrong: str = ""


def message_of(data: bytes) -> Message:
    """Decode a message; an invalid message has its reason in `wrong`."""
    try:
        return _read(data)
    except Exception as exc:  # noqa: BLE001  # any error of the decoder
        return Message(wrong=f"the message is not a valid AMQP 1.0 message: {type(exc).__name__}")


def written(body: bytes, headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Encode a message with a body and headers; names of headers must be unique."""
    kind = (
        b"\xa0" + bytes([len(body)]) if len(body) < 256 else b"\xb0" + len(body).to_bytes(4, "big")
    )
    data = b"\0\x53" + bytes([_DATA]) + kind + body
    if not headers:
        return data
    return bytes(AMQPMessage(application_properties=dict(headers))) + data


def _read(data: bytes) -> Message:
    parts: list[bytes] = []
    headers: Mapping[str, bytes | None] | None = None
    for kind, section, value in _sections(data):
        match kind:
            case 0x75:
                parts.append(value)
            case 0x74:
                headers = _headers(section)
            case 0x77:
                parts.append(_bytes(amqp_decoder(section).value) or b"")
            case 0x76:
                return Message(
                    wrong="the message body is an AMQP sequence; expected bytes, text or a value"
                )
            case _:
                pass
    if not parts:
        return Message(wrong="the message has no body")
    return Message(b"".join(parts), headers)


def _sections(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the kind, the complete bytes and the value's bytes of each section."""
    at = 0
    while at < len(data):
        if data[at : at + 2] != b"\0\x53":
            raise ValueError(f"the message has no AMQP section at byte {at}")
        kind, form = data[at + 2], data[at + 3]
        start = at + 4
        if (size := _SIZES.get(form >> 4)) is None:
            width = 1 if form >> 4 in (0xA, 0xC, 0xE) else 4
            size = int.from_bytes(data[start : start + width], "big")
            start += width
        if start + size > len(data):
            raise ValueError("the message is truncated")
        yield kind, data[at : start + size], data[start : start + size]
        at = start + size


def _headers(section: bytes) -> Mapping[str, bytes | None]:
    found = amqp_decoder(section).application_properties or {}
    return {_name(name): _bytes(value) for name, value in found.items()}


def _name(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, default=str).encode()
