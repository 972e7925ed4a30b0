"""Guarantees of proto2 that its parser does not check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kstreams_protobuf.kinds import kinds_within, syntax_of

__all__ = ("Proto2Checks",)


@dataclass(frozen=True)
class Proto2Checks:
    """The checks of a parsed message that the parser itself does not make for proto2.

    Attributes:
        required: Whether the message or its parts have required fields.
        texts: Whether the message or its parts have proto2 text, which may be invalid UTF-8 and is
            then returned as bytes.
    """

    required: bool
    texts: bool

    @classmethod
    def of(cls, message: Descriptor) -> Proto2Checks | None:
        """Return the checks for a kind of message; None if none are needed."""
        kinds = [kind for kind in kinds_within(message) if syntax_of(kind.file) == "proto2"]
        fields = [field for kind in kinds for field in kind.fields]
        found = cls(
            any(field.is_required for field in fields),
            any(field.type == FieldDescriptor.TYPE_STRING for field in fields),
        )
        return found if found.required or found.texts else None

    def problem_of(self, message: Message) -> str | None:
        """Return the problem of a message; None if it is valid."""
        if self.required and not message.IsInitialized():
            missing: Iterable[str] = message.FindInitializationErrors()  # type: ignore[attr-defined]
            return f"required fields are missing: {', '.join(missing)}"
        wrong = _wrong_text(message) if self.texts else None
        return None if wrong is None else f"invalid UTF-8 in {wrong}"


def _wrong_text(message: Message) -> str | None:
    """Return the name of a text field that is invalid UTF-8; None if there is none."""
    for field, value in message.ListFields():
        values: Iterable[object] = (value,)
        if isinstance(value, Mapping):
            values = (*value, *value.values())
        elif field.is_repeated:
            values = value
        is_text = field.type == FieldDescriptor.TYPE_STRING
        for each in values:
            if is_text and isinstance(each, bytes):
                return str(field.full_name)
            found = _wrong_text(each) if isinstance(each, Message) else None
            if found is not None:
                return found
    return None
