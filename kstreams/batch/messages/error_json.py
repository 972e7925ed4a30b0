"""Convert the library's errors to JSON of bounded size and back.

Parsed data never becomes code: a class is looked up by its name among the error classes of the
library and its plugins, and fields are numbers, text, or lists of these.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from kstreams.errors import ExecutionError, KStreamsError, Where
from kstreams.quoting import kind_of, repr_of, safe_end, safe_text, text_of

__all__ = ("from_json", "to_json")

_NAMES = ("app", "group", "node", "origin", "store", "target", "topic", "file")
_NUMBERS = ("partition", "offset", "timestamp", "record")
_TRACEBACK = "cause_traceback"
_INT64 = range(-(1 << 63), 1 << 63)
_MAX_ITEMS = 100
_MAX_FIELDS = 20


def to_json(error: KStreamsError, limit: int) -> dict[str, Any]:
    """Return an error as JSON-compatible data.

    An error of an unregistered class becomes an error of its nearest registered base class, with
    the name of the class in its message. Fields that are not numbers, text or lists become text.

    Args:
        error: The error to convert.
        limit: The maximum number of characters of each text.
    """
    classes = [_name(kind) for kind in type(error).__mro__ if _is_registered(kind)]
    message = text_of(error.message or Exception.__str__(error))
    if not _is_registered(type(error)):
        classes = [name for name in classes if name != _name(KStreamsError)]
        message = f"{kind_of(error)}: {message}"
    own = {
        name: safe_end(text_of(value), limit) if name == _TRACEBACK else _plain(value, limit)
        for name, value in list(vars(error).items())[:_MAX_FIELDS]
        if name not in KStreamsError.__annotations__ and not name.startswith("_")
    }
    return {
        "classes": classes,
        "message": safe_text(message, limit),
        "hint": safe_text(text_of(error.hint), limit),
        "where": _where_json(error.where, limit),
        "fields": own,
    }


def from_json(data: Mapping[str, Any]) -> KStreamsError:
    """Return the error from the result of `to_json`.

    Raises:
        ValueError: The data is not what `to_json` returns.
        KeyError: A part of the data is missing.
    """
    known = {_name(kind): kind for kind in _registered(KStreamsError)}
    names = _typed(data["classes"], list)
    kind = next((known[name] for name in names if name in known), ExecutionError)
    message = _typed(data["message"], str)
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.message = message
    error.hint = _typed(data["hint"], str)
    error.where = _where(_typed(data["where"], dict))
    for name, value in _typed(data["fields"], dict).items():
        if not name.isidentifier() or name.startswith("_") or hasattr(KStreamsError, name):
            raise ValueError(f"the JSON of an error has the invalid field {name!r}")
        vars(error)[name] = _read(value)
    return error


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _is_registered(kind: type) -> bool:
    """Return whether an error class belongs to the library or is a plugin's subclass."""
    package = kind.__module__.partition(".")[0]
    own = package == "kstreams" or package.startswith("kstreams_")
    return own and issubclass(kind, KStreamsError) and "<" not in kind.__qualname__


def _registered(kind: type[KStreamsError]) -> Iterator[type[KStreamsError]]:
    if _is_registered(kind):
        yield kind
    for derived in kind.__subclasses__():
        yield from _registered(derived)


def _plain(value: object, limit: int) -> Any:  # noqa: ANN401  # JSON
    if isinstance(value, (tuple, list)):
        return [_scalar(item, limit) for item in value[:_MAX_ITEMS]]
    return _scalar(value, limit)


def _scalar(value: object, limit: int) -> Any:  # noqa: ANN401  # JSON
    if value is None or type(value) in (bool, float) or (type(value) is int and value in _INT64):
        return value
    return safe_text(value, limit) if type(value) is str else repr_of(value, limit)


def _read(value: object) -> Any:  # noqa: ANN401  # a field's
    if isinstance(value, list):
        return tuple(_read_scalar(item) for item in value)
    return _read_scalar(value)


def _read_scalar(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(
        f"a field of an error has the type {type(value).__name__}, expected a plain value"
    )


def _where_json(where: Where, limit: int) -> dict[str, Any]:
    names = {name: getattr(where, name) for name in _NAMES}
    numbers = {name: getattr(where, name) for name in _NUMBERS}
    return {
        **{name: text_of(v)[:limit] for name, v in names.items() if v is not None},
        **{name: v for name, v in numbers.items() if type(v) is int and v in _INT64},
        "key": _key_json(where.key, limit),
    }


def _key_json(key: object, limit: int) -> list[Any]:
    """Return a key and its kind: short bytes, text and numbers unchanged, others as `repr`."""
    if type(key) is bytes and len(key) <= limit:
        return ["bytes", base64.b64encode(key).decode()]
    if type(key) is str and len(key) <= limit:
        return ["plain", key]  # JSON escapes whatever is in it
    if key is None or type(key) in (bool, float) or (type(key) is int and key in _INT64):
        return ["plain", key]
    return ["plain", repr_of(key, limit)]


def _where(data: Mapping[str, Any]) -> Where:
    names = {name: _typed(data[name], str) for name in _NAMES if name in data}
    numbers = {name: _typed(data[name], int) for name in _NUMBERS if name in data}
    kind, key = _typed(data["key"], list)
    if kind == "bytes":
        key = base64.b64decode(_typed(key, str), validate=True)
    return Where(**names, **numbers, key=_read_scalar(key) if kind == "plain" else key)


def _typed(value: Any, kind: type) -> Any:  # noqa: ANN401  # JSON
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
