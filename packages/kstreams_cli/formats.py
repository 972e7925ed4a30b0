"""Serdes by their text names: built-in ones, those of installed packages, and the user's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal

import typer
from typing_extensions import override

from kstreams.errors import (
    DeserializationError,
    KStreamsError,
    PluginError,
    SerdeError,
    SerializationError,
)
from kstreams.plugins import load_plugin, missing_extra, plugin_names
from kstreams.quoting import text_of
from kstreams.serde.base import Serde
from kstreams.serde.by_text import SerdeByText, SerdeRequest
from kstreams.serde.compressed import compressed
from kstreams.serde.framed import TopicPart, in_topic
from kstreams.serde.lines import LINES
from kstreams.serde.none import NONE
from kstreams.serde.numbers import BOOL, DOUBLE, INT32, INT64
from kstreams.serde.text import BYTES, TEXT
from kstreams_admin.composite_names import composite_named
from kstreams_admin.values import parser_of, plain, shown_by
from kstreams_cli.loading import load_object
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = (
    "KEY_SERDE_HELP",
    "VALUE_SERDE_HELP",
    "Format",
    "RegistryOption",
    "find_format",
    "find_serde",
    "formats_of",
    "offered",
    "offered_names",
    "recorded_serde",
)

_REGISTRY = "KSTREAMS_REGISTRY"

RegistryOption = Annotated[
    str | None,
    typer.Option(
        "--registry",
        metavar="URL",
        envvar=_REGISTRY,
        help="URL of the schema registry for the serde `registry`. Set a URL with a "
        "password in the environment variable, because other users can list command lines.",
        show_default=False,
        show_envvar=True,
    ),
]


class _AnyJson(Serde[Any]):
    """Any JSON value, as compact UTF-8 text; only for input and output of the command line."""

    __slots__ = ()
    name = "json"

    @override
    def serialize(self, value: object) -> bytes:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as exc:
            raise SerializationError(f"the value cannot be written as JSON: {exc}") from exc

    @override
    def deserialize(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as exc:
            raise DeserializationError(f"expected JSON, got {data[:40]!r}: {exc}") from exc


_JSON = _AnyJson()


class Format:
    """A serde with conversions between text and its values.

    Args:
        serde: The serde.

    Attributes:
        unread: The number of times that `read` returned bytes that the serde could not read.
    """

    def __init__(self, serde: Serde[Any]) -> None:
        self.serde = serde
        self.unread = 0
        self.parse = parser_of(serde)
        self.show = shown_by(serde)

    def read(self, data: bytes | None) -> tuple[object, bool]:
        """Return the value of bytes and True; or the bytes and False if the serde cannot read them.

        Raises:
            KStreamsError: A service that the serde needs does not respond.
        """
        if data is None:
            return None, True
        try:
            return self.serde.deserialize(data), True
        except SerdeError:
            pass
        except (KStreamsError, KeyboardInterrupt):
            raise
        except BaseException:  # noqa: BLE001, S110  # a serde that is not as strict as its contract
            pass
        self.unread += 1
        return data, False

    def plain(self, value: object) -> object:
        """Return the JSON form of a value."""
        return plain(value, self.serde)


def _fixed(serde: Serde[Any], about: str) -> SerdeByText:
    def make(request: SerdeRequest) -> Serde[Any]:
        if request.text:
            raise ValueError(
                f"serde {serde.name} takes no text after its name, got {request.text!r}"
            )
        return serde

    return SerdeByText(serde.name, about, make, lambda name: serde if name == serde.name else None)


def _recorded_json(name: str) -> Serde[Any] | None:
    return _JSON if name == "json" or (name.startswith("json[") and name.endswith("]")) else None


def _unpacked(codec: Literal["gzip", "zstd"], request: SerdeRequest) -> Serde[Any]:
    return compressed(request.inner(request.text or "text"), codec)


def _recorded_packed(codec: Literal["gzip", "zstd"], name: str) -> Serde[Any] | None:
    inner = name.removeprefix(f"{codec}(")
    if inner == name or not inner.endswith(")"):
        return None
    found = recorded_serde(inner[:-1])
    return None if found is None else compressed(found, codec)


def _packed(codec: Literal["gzip", "zstd"]) -> SerdeByText:
    return SerdeByText(
        f"{codec}:SERDE",
        f"values of another serde, compressed with {codec}",
        partial(_unpacked, codec),
        partial(_recorded_packed, codec),
    )


_BUILT_IN: Mapping[str, SerdeByText] = {
    "text": _fixed(TEXT, "UTF-8 text"),
    "json": SerdeByText("json", "any JSON value", _fixed(_JSON, "").make, _recorded_json),
    "int64": _fixed(INT64, "64-bit integers, as in Java's LongSerializer"),
    "int32": _fixed(INT32, "32-bit integers, as in Java's IntegerSerializer"),
    "double": _fixed(DOUBLE, "floating-point numbers, as in Java's DoubleSerializer"),
    "bool": _fixed(BOOL, "true or false"),
    "bytes": _fixed(BYTES, "uninterpreted bytes"),
    "lines": _fixed(LINES, "list of text lines"),
    "none": _fixed(NONE, "always null; existing bytes are ignored"),
    "gzip": _packed("gzip"),
    "zstd": _packed("zstd"),
}

KEY_SERDE_HELP = (
    "Serde of the keys: a built-in one such as text, json or int64; one of an installed package, "
    "such as protobuf:FILE#MESSAGE; or MODULE:SERDE for a custom serde. `kstreams serdes` lists "
    "all serdes."
)
"""The help of `--key-serde`."""

VALUE_SERDE_HELP = "Serde of the values, in the same form as --key-serde."
"""The help of `--value-serde`."""


def offered(name: str) -> SerdeByText | None:
    """Return the `SerdeByText` of a name, built-in or of an installed package; None if unknown.

    Raises:
        PluginError: A package offers another kind of object under the name.
        ImportError: A required package is not installed.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name not in plugin_names("kstreams.serde_texts"):
        return None
    found = load_plugin("kstreams.serde_texts", name)
    if not isinstance(found, SerdeByText):
        raise PluginError(
            f"expected a SerdeByText as {name!r} of kstreams.serde_texts, got {found!r}",
            hint="install a version of its package for this kstreams.",
        )
    return found


def offered_names() -> list[str]:
    """Return the names of all serdes and formats that `offered` finds."""
    return [*_BUILT_IN, *(n for n in plugin_names("kstreams.serde_texts") if n not in _BUILT_IN)]


def find_format(
    text: str, *, topic: str | None = None, part: TopicPart = "value", registry: str | None = None
) -> Format:
    """Return the format of a serde that is given as text; see `find_serde`."""
    return Format(find_serde(text, topic=topic, part=part, registry=registry))


def formats_of(topic: str, key: str, value: str, registry: str | None) -> tuple[Format, Format]:
    """Return the formats of a topic's keys and values, given the texts of their options."""
    with for_option("--key-serde"):
        keys = find_format(key, topic=topic, part="key", registry=registry)
    with for_option("--value-serde"):
        return keys, find_format(value, topic=topic, registry=registry)


def find_serde(
    text: str, *, topic: str | None = None, part: TopicPart = "value", registry: str | None = None
) -> Serde[Any]:
    """Return the serde that an option such as `--value-serde` names.

    Args:
        text: `NAME`; `NAME:MORE` with an argument, such as `protobuf:FILE#MESSAGE`; or
            `MODULE:SERDE`, a serde of the user.
        topic: The topic of the records, if there is one.
        part: Whether the serde is for keys (`key`) or values (`value`).
        registry: The address of a schema registry, if there is one.

    Raises:
        WrongUsageError: The serde does not exist; the message has similar names.
    """
    name, _, more = text.partition(":")
    known: SerdeByText | None = None
    try:
        known = offered(name)
        if known is None:
            found = _own(text)
        else:
            inner = partial(find_serde, topic=topic, part=part, registry=registry)
            found = known.make(SerdeRequest(more, inner, topic, part, registry))
    except WrongUsageError as exc:
        extra = missing_extra(name) if known is None else ""
        if extra:
            raise WrongUsageError(
                f"{text_of(exc)}; for the serde {name!r}: pip install 'kstreams-spark[{extra}]'"
            ) from exc
        raise
    except (PluginError, ImportError) as exc:
        raise WrongUsageError(f"serde {text!r} cannot be loaded: {text_of(exc)}") from exc
    except (ValueError, OSError) as exc:
        if isinstance(exc, KStreamsError):
            raise
        usage = "" if known is None else f"; usage: {known.usage}"
        raise WrongUsageError(f"serde {text!r}: {text_of(exc)}{usage}") from exc
    return found if topic is None else in_topic(found, topic, part, apart=False)


def _own(text: str) -> Serde[Any]:
    """Load the serde that `MODULE:SERDE` names."""
    if ":" in text:
        found = load_object(text)
        if not isinstance(found, Serde):
            raise WrongUsageError(f"{text} is of type {type(found).__name__}, expected a Serde")
        return found
    if text in plugin_names("kstreams.serdes"):
        raise WrongUsageError(
            f"serde {text!r} needs a type: create the serde in a module of yours, and give "
            "MODULE:SERDE"
        )
    names = offered_names()
    near = get_close_matches(text, names, n=1)
    raise WrongUsageError(
        f"there is no serde {text!r}"
        + (f"; did you mean {near[0]!r}?" if near else f": expected {', '.join(names)}")
        + ("" if near else ", or MODULE:SERDE for your own; `kstreams serdes` lists all")
    )


def recorded_serde(name: str) -> Serde[Any] | None:
    """Return the serde whose name is recorded with a store.

    None if the name is not enough: some serdes also need a type or a schema.
    """
    return composite_named(name, _recorded_single) or _recorded_single(name)


def _recorded_single(name: str) -> Serde[Any] | None:
    for each in offered_names():
        try:
            known = offered(each)
            found = None if known is None else known.recorded(name)
        except (PluginError, ImportError):
            continue  # it could not have written the store here
        if found is not None:
            return found
    return None
