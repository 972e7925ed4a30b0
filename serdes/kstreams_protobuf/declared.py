"""The messages that a `.proto` file declares: only the parts that affect their bytes.

This module is not a compiler: it skips unknown parts, because the writer has compiled a registered
schema.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from kstreams_protobuf.proto_text import file_text

__all__ = ("Declared", "DeclaredField", "declared")

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/[*].*?[*]/
    |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<name>[.]?[A-Za-z_][\w]*(?:[.][A-Za-z_]\w*)*)
    |(?P<number>[-+]?[\d.][\w.+-]*)
    |(?P<sign>[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
_LABELS = ("optional", "required", "repeated")
_OTHERS = ("option", "reserved", "extensions", "extend")
_MOST_DEPTH = 100
_MOST_CHARS = 10_000_000


@dataclass(frozen=True)
class DeclaredField:
    """A field of a message.

    Attributes:
        name: The name.
        kind: The name of a scalar, `group`, `map`, or the full name of a message or enum.
        repeated: Whether the field is repeated.
    """

    name: str
    kind: str
    repeated: bool


@dataclass
class Declared:
    """The declarations of files.

    Attributes:
        messages: For each full name of a message, its fields by number; in the order of
            declaration. The entries of a map field are a message of their own, with the full name
            `MESSAGE.FIELD<>`.
        enums: The full names of enums.
        outermost: The names of the top-level messages of the last file.
    """

    messages: dict[str, dict[int, DeclaredField]] = field(default_factory=dict)
    enums: set[str] = field(default_factory=set)
    outermost: list[str] = field(default_factory=list)

    def nested(self, name: str) -> list[str]:
        """Return the messages directly inside a message or the file, in order."""
        if not name:
            return self.outermost
        inside = name + "."
        return [
            each
            for each in self.messages
            if each.startswith(inside) and "." not in each[len(inside) :]
        ]

    def resolved(self, name: str, scope: str) -> str | None:
        """Return the full name of a message or enum, given its name in a scope; None if unknown."""
        if name.startswith("."):
            return name[1:] if self._has(name[1:]) else None
        parts = scope.split(".") if scope else []
        for length in range(len(parts), -1, -1):
            full = ".".join([*parts[:length], name])
            if self._has(full):
                return full
        return None

    def _has(self, name: str) -> bool:
        return name in self.messages or name in self.enums


def declared(text: str, *imported: str) -> Declared:
    """Return the declarations of a file and of the files that it imports.

    Raises:
        ValueError: The file is invalid.
    """
    found = Declared()
    for each in (*imported, text):
        found.outermost = []
        _Parser(_plain(each), found).file()
    return found


def _plain(text: str) -> str:
    """Return the text of a file, which may be given as a descriptor in base64."""
    if len(text) > _MOST_CHARS:
        raise ValueError(
            f"expected a protobuf schema of at most {_MOST_CHARS:,} characters, got {len(text):,}"
        )
    try:
        return file_text(FileDescriptorProto.FromString(b64decode(text, validate=True)))
    except (ValueError, DecodeError):
        return text


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"not a valid protobuf schema at {text[place : place + 40]!r}")
        place = found.end()
        if found.lastgroup is not None:
            yield found[0]


class _Parser:
    """Parses one file by recursive descent, and skips statements without declarations."""

    def __init__(self, text: str, found: Declared) -> None:
        self._tokens = [*_tokens(text), ""]
        self._place = 0
        self._found = found

    def file(self) -> None:
        package = ""
        while self._next():
            match self._take():
                case "package":
                    package = self._take()
                    self._skip()
                case "message":
                    name = self._message(package, 0)
                    self._found.outermost.append(name)
                case "enum":
                    self._enum(package)
                case ";":
                    pass
                case _:
                    self._skip()

    def _message(self, scope: str, depth: int) -> str:
        name = f"{scope}.{self._take()}" if scope else self._take()
        self._body(name, depth)
        return name

    def _body(self, name: str, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise ValueError(
                f"not a valid protobuf schema: more than {_MOST_DEPTH} levels of messages"
            )
        fields = self._found.messages.setdefault(name, {})
        self._expect("{")
        while self._next() != "}":
            match self._take():
                case "message" if self._ahead("{", 1):
                    self._message(name, depth + 1)
                case "enum" if self._ahead("{", 1):
                    self._enum(name)
                case "oneof" if self._ahead("{", 1):
                    self._take()
                    self._expect("{")
                    while self._next() != "}":
                        self._member(self._take(), name, fields, depth)
                    self._expect("}")
                case ";":
                    pass
                case word:
                    self._member(word, name, fields, depth)
        self._expect("}")

    def _member(self, word: str, scope: str, fields: dict[int, DeclaredField], depth: int) -> None:
        """Parse a field of a message, or skip a member that is not a field.

        Args:
            word: The first word of the member, which is already read.
            scope: The full name of the message.
            fields: The fields of the message by number; a parsed field is added.
            depth: The number of enclosing messages.
        """
        repeated = word == "repeated"
        if word in _LABELS:
            word = self._take()
        if word in _OTHERS:
            self._skip()
        elif word == "group":
            name = self._take()
            self._expect("=")
            fields[self._number()] = DeclaredField(name.lower(), "group", repeated)
            self._body(f"{scope}.{name}", depth + 1)
        elif word == "map" and self._next() == "<":
            self._map(scope, fields)
        elif self._ahead("=", 1):
            name = self._take()
            self._expect("=")
            fields[self._number()] = DeclaredField(name, word, repeated)
            self._skip()
        else:
            self._skip()

    def _map(self, scope: str, fields: dict[int, DeclaredField]) -> None:
        self._expect("<")
        key = self._take()
        self._expect(",")
        value = self._take()
        self._expect(">")
        name = self._take()
        self._expect("=")
        entry = f"{scope}.{name}<>"
        fields[self._number()] = DeclaredField(name, f".{entry}", repeated=True)
        self._found.messages[entry] = {
            1: DeclaredField("key", key, repeated=False),
            2: DeclaredField("value", value, repeated=False),
        }
        self._skip()

    def _enum(self, scope: str) -> None:
        name = self._take()
        self._found.enums.add(f"{scope}.{name}" if scope else name)
        self._skip()

    def _skip(self) -> None:
        """Skip the rest of a statement: up to its semicolon, or its block."""
        depth = 0
        while True:
            word = self._take()
            if word in ("{", "["):
                depth += 1
            elif word in ("}", "]"):
                depth -= 1
                if not depth and word == "}":
                    return
            elif word == ";" and not depth:
                return

    def _number(self) -> int:
        word = self._take()
        try:
            return int(word, 0)
        except ValueError as exc:
            raise ValueError(
                f"not a valid protobuf schema: expected a field number, got {word!r:.40}"
            ) from exc

    def _next(self) -> str:
        return self._tokens[self._place]

    def _ahead(self, word: str, by: int) -> bool:
        return self._tokens[min(self._place + by, len(self._tokens) - 1)] == word

    def _take(self) -> str:
        word = self._next()
        if not word:
            raise ValueError("not a valid protobuf schema: the text ends too early")
        self._place += 1
        return word

    def _expect(self, word: str) -> None:
        found = self._take()
        if found != word:
            raise ValueError(f"not a valid protobuf schema: expected {word!r}, got {found!r:.40}")
