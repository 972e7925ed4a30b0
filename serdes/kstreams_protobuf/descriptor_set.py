"""Message classes without generated code, from the descriptors of `protoc`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from kstreams_protobuf.kinds import file_proto

__all__ = ("message_class", "serialized_set")

_KEPT = 64
_OF_PROTOBUF = re.compile("google/protobuf/([a-z_]+)[.]proto")


@lru_cache(_KEPT)
def message_class(serialized: bytes, name: str) -> type[Message]:
    """Return the class of a message; the same one for the same arguments.

    Args:
        serialized: A `FileDescriptorSet`, as bytes.
        name: The message's full name.

    Raises:
        ValueError: The bytes are not a `FileDescriptorSet`, or the set is incomplete or does not
            have the message.
    """
    try:
        files = {file.name: file for file in FileDescriptorSet.FromString(serialized).file}
    except DecodeError as exc:
        raise ValueError(
            "expected a set of descriptors, got other data\n"
            "Hint: create the file with protoc --include_imports --descriptor_set_out=FILE ..."
        ) from exc
    pool = descriptor_pool.DescriptorPool()
    done: dict[str, None] = {}
    for file in files:
        _add(pool, files, file, done)
    try:
        return GetMessageClass(pool.FindMessageTypeByName(name))  # type: ignore[no-untyped-call]  # so
    except KeyError as exc:
        names = sorted(each for file in files.values() for each in _names(file))
        near = get_close_matches(name, names, 3) or names[:3]
        raise ValueError(
            f"the set of descriptors has no message {name!r:.200}\n"
            f"Hint: messages of the set: {', '.join(near) or 'none'}."
        ) from exc


def serialized_set(message: Descriptor) -> tuple[bytes, str]:
    """Return the arguments with which `message_class` recreates the class of a message."""
    found: dict[str, FileDescriptor] = {}
    _gather(message.file, found)
    files = FileDescriptorSet()
    for file in found.values():
        files.file.append(file_proto(file))
    return files.SerializeToString(deterministic=True), message.full_name


def _gather(file: FileDescriptor, found: dict[str, FileDescriptor]) -> None:
    for other in file.dependencies:
        _gather(other, found)
    found.setdefault(file.name, file)


def _add(
    pool: descriptor_pool.DescriptorPool,
    files: dict[str, FileDescriptorProto],
    name: str,
    done: dict[str, None],
) -> None:
    """Add a file to a pool after the files that it imports.

    Args:
        pool: The pool.
        files: The files of the set, by name.
        name: The name of the file to add.
        done: The names of the files in the pool, as keys; updated.
    """
    waiting = [name]
    while waiting:
        file = _file(files, waiting[-1])
        missing = [other for other in file.dependency if other not in done]
        if waiting[-1] in done:
            waiting.pop()
        elif missing:
            if set(missing) & set(waiting):
                raise ValueError(f"file {waiting[-1]!r:.200} imports itself through other files")
            waiting.append(missing[0])
        else:
            try:
                pool.AddSerializedFile(file.SerializeToString())  # type: ignore[no-untyped-call]  # as above
            except TypeError as exc:
                raise ValueError(f"protobuf rejects file {file.name!r:.200}: {exc}") from exc
            done[waiting.pop()] = None


def _file(files: dict[str, FileDescriptorProto], name: str) -> FileDescriptorProto:
    """Return the descriptor of a file, from the set or from protobuf itself."""
    if name in files:
        return files[name]
    own = _OF_PROTOBUF.fullmatch(name)
    try:
        if own is None:
            raise ModuleNotFoundError(name)  # noqa: TRY301  # as if it were one
        return file_proto(import_module(f"google.protobuf.{own[1]}_pb2").DESCRIPTOR)
    except ModuleNotFoundError as exc:
        raise ValueError(
            f"the set of descriptors lacks {name!r:.200}, which a file of the set imports\n"
            "Hint: create the set with protoc --include_imports."
        ) from exc


def _names(file: FileDescriptorProto) -> Iterator[str]:
    waiting: list[tuple[str, DescriptorProto]] = [
        (file.package, each) for each in file.message_type
    ]
    while waiting:
        scope, message = waiting.pop()
        name = f"{scope}.{message.name}" if scope else message.name
        yield name
        waiting.extend((name, inner) for inner in message.nested_type)
