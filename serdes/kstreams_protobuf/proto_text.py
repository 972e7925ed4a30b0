"""The canonical text of a file of messages, as `.proto` files are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

__all__ = ("file_text",)

_SCALARS = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}
_LABELS = {
    FieldDescriptorProto.LABEL_REQUIRED: "required ",
    FieldDescriptorProto.LABEL_OPTIONAL: "optional ",
    FieldDescriptorProto.LABEL_REPEATED: "repeated ",
}
_LAST_FIELD, _LAST_VALUE = (1 << 29) - 1, (1 << 31) - 1
_INDENT = "  "
_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def file_text(proto: FileDescriptorProto) -> str:
    """Return the canonical text of a file, which is equal for equivalent files.

    It has no comments. Parts without a significant order are sorted: imports, options, fields (by
    number), reserved ranges, enums and services. Messages keep their order, which determines their
    index; so do the values of enums, whose first value is the default. Type names are full. Custom
    options are omitted.
    """
    return "\n".join([*_file(proto), ""])


def _file(proto: FileDescriptorProto) -> Iterator[str]:
    if proto.syntax == "editions":
        editions = getattr(proto, "Edition", None)
        edition = proto.edition if editions is None else editions.Name(proto.edition)
        yield f'edition = "{str(edition).removeprefix("EDITION_")}";'
    else:
        yield f'syntax = "{proto.syntax or "proto2"}";'
    if proto.package:
        yield f"package {proto.package};"
    public = {proto.dependency[place] for place in proto.public_dependency}
    weak = {proto.dependency[place] for place in proto.weak_dependency}
    for name in sorted(proto.dependency):
        how = "public " if name in public else "weak " if name in weak else ""
        yield f'import {how}"{name}";'
    for option in _options(proto.options):
        yield f"option {option};"
    proto3 = proto.syntax == "proto3"
    for message in proto.message_type:
        yield from _message(message, _scope(proto.package), proto3=proto3)
    for enum in sorted(proto.enum_type, key=lambda enum: enum.name):
        yield from _enum(enum)
    yield from _extensions(proto.extension, proto3=proto3)
    for service in sorted(proto.service, key=lambda service: service.name):
        yield from _service(service)


def _scope(*names: str) -> str:
    return "".join(f".{name}" for name in names if name)


def _block(head: str, lines: Iterable[str]) -> Iterator[str]:
    inside = [_INDENT + line for line in lines]
    yield f"{head} {{" if inside else f"{head} {{}}"
    if inside:
        yield from inside
        yield "}"


def _message(proto: DescriptorProto, scope: str, *, proto3: bool) -> Iterator[str]:
    yield from _block(f"message {proto.name}", _members(proto, scope + "." + proto.name, proto3))


def _members(proto: DescriptorProto, scope: str, proto3: bool) -> Iterator[str]:
    nested = {f"{scope}.{inner.name}": inner for inner in proto.nested_type}
    maps = {name: inner for name, inner in nested.items() if inner.options.map_entry}
    bodies = {name: inner for name, inner in nested.items() if name not in maps}
    for option in _options(proto.options):
        yield f"option {option};"
    yield from _reserved(
        [(each.start, each.end - 1) for each in proto.reserved_range],
        proto.reserved_name,
        _LAST_FIELD,
    )
    for first, last in sorted((each.start, each.end - 1) for each in proto.extension_range):
        yield f"extensions {_range(first, last, _LAST_FIELD)};"
    done: set[int] = set()
    for field in sorted(proto.field, key=lambda field: field.number):
        if field.type == FieldDescriptorProto.TYPE_GROUP:
            inner = bodies.pop(field.type_name)
            yield from _block(
                f"{_LABELS[field.label]}group {inner.name} = {field.number}",
                _members(inner, field.type_name, proto3),
            )
        elif field.HasField("oneof_index") and not field.proto3_optional:
            if field.oneof_index not in done:
                done.add(field.oneof_index)
                yield from _oneof(proto.oneof_decl[field.oneof_index], field.oneof_index, proto)
        elif field.type_name in maps:
            key, value = maps[field.type_name].field
            yield f"map<{_type(key)}, {_type(value)}> {_named(field)};"
        else:
            yield f"{_label(field, proto3=proto3)}{_type(field)} {_named(field)};"
    for inner in bodies.values():
        yield from _block(f"message {inner.name}", _members(inner, _scope_of(scope, inner), proto3))
    for enum in sorted(proto.enum_type, key=lambda enum: enum.name):
        yield from _enum(enum)
    yield from _extensions(proto.extension, proto3=proto3)


def _scope_of(scope: str, inner: DescriptorProto) -> str:
    return f"{scope}.{inner.name}"


def _oneof(proto: OneofDescriptorProto, index: int, message: DescriptorProto) -> Iterator[str]:
    own = [field for field in message.field if _in_oneof(field, index)]
    lines = [
        f"{_type(field)} {_named(field)};" for field in sorted(own, key=lambda field: field.number)
    ]
    yield from _block(f"oneof {proto.name}", lines)


def _in_oneof(field: FieldDescriptorProto, index: int) -> bool:
    return field.HasField("oneof_index") and field.oneof_index == index


def _label(field: FieldDescriptorProto, *, proto3: bool) -> str:
    plain = proto3 and field.label == FieldDescriptorProto.LABEL_OPTIONAL
    return "" if plain and not field.proto3_optional else _LABELS[field.label]


def _type(field: FieldDescriptorProto) -> str:
    return field.type_name or _SCALARS[field.type]


def _named(field: FieldDescriptorProto) -> str:
    """Return the text of a field's name, number and options."""
    options = list(_options(field.options))
    if field.HasField("default_value"):
        options.append(f"default = {_default(field)}")
    if field.HasField("json_name") and field.json_name != _json_name(field.name):
        options.append(f'json_name = "{_escaped(field.json_name)}"')
    return f"{field.name} = {field.number}{_listed(sorted(options))}"


def _listed(options: Iterable[str]) -> str:
    said = ", ".join(options)
    return f" [{said}]" if said else ""


def _default(field: FieldDescriptorProto) -> str:
    text = field.default_value
    if field.type == FieldDescriptorProto.TYPE_STRING:
        return f'"{_escaped(text)}"'
    return f'"{text}"' if field.type == FieldDescriptorProto.TYPE_BYTES else text


def _escaped(text: str) -> str:
    return "".join(
        f"\\{ord(char):03o}" if char < " " or char == "\x7f" else _ESCAPES.get(char, char)
        for char in text
    )


def _json_name(name: str) -> str:
    """Return the default JSON name of a field."""
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _enum(proto: EnumDescriptorProto) -> Iterator[str]:
    def lines() -> Iterator[str]:
        for option in _options(proto.options):
            yield f"option {option};"
        yield from _reserved(
            [(each.start, each.end) for each in proto.reserved_range],
            proto.reserved_name,
            _LAST_VALUE,
        )
        for value in proto.value:
            said = _listed(_options(value.options))
            yield f"{value.name} = {value.number}{said};"

    yield from _block(f"enum {proto.name}", lines())


def _reserved(ranges: Sequence[tuple[int, int]], names: Iterable[str], last: int) -> Iterator[str]:
    if ranges:
        yield f"reserved {', '.join(_range(a, b, last) for a, b in sorted(ranges))};"
    quoted = [f'"{name}"' for name in sorted(names)]
    if quoted:
        yield f"reserved {', '.join(quoted)};"


def _range(first: int, last: int, most: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last == most else last}"


def _extensions(fields: Iterable[FieldDescriptorProto], *, proto3: bool) -> Iterator[str]:
    for field in sorted(fields, key=lambda field: (field.extendee, field.number)):
        line = f"{_label(field, proto3=proto3)}{_type(field)} {_named(field)};"
        yield from _block(f"extend {field.extendee}", [line])


def _service(proto: ServiceDescriptorProto) -> Iterator[str]:
    methods = sorted(proto.method, key=lambda method: method.name)
    options = [f"option {option};" for option in _options(proto.options)]
    yield from _block(f"service {proto.name}", [*options, *map(_method, methods)])


def _method(proto: MethodDescriptorProto) -> str:
    asks = "stream " if proto.client_streaming else ""
    gives = "stream " if proto.server_streaming else ""
    options = " ".join(f"option {option};" for option in _options(proto.options))
    end = f" {{ {options} }}" if options else ";"
    return f"rpc {proto.name} ({asks}{proto.input_type}) returns ({gives}{proto.output_type}){end}"


def _options(options: Message) -> Iterator[str]:
    """Yield the texts of the options that are set and are standard, in the order of names."""
    for field, value in sorted(options.ListFields(), key=lambda pair: pair[0].name):
        if field.is_extension or field.is_repeated or field.message_type is not None:
            continue
        if field.name == "map_entry":
            continue
        if field.enum_type is not None:
            yield f"{field.name} = {field.enum_type.values_by_number[value].name}"
        elif isinstance(value, bool):
            yield f"{field.name} = {str(value).lower()}"
        elif isinstance(value, str):
            yield f'{field.name} = "{_escaped(value)}"'
        else:
            yield f"{field.name} = {value}"
