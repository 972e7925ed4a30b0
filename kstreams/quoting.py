"""Quote foreign text: bounded, escaped, and never raising.

Exceptions, keys and values have text that foreign code creates. The results of this module are safe
to log, print, encode and send: they have no control character, no lone surrogate, and no line that
looks like a line of the library.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable

__all__ = ("kind_of", "one_line", "repr_of", "safe_end", "safe_text", "text_of", "traceback_of")

_MOST = 30_000
"""The default maximum number of characters of a text."""

# Control characters, separators of lines, what turns the direction of text, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = str.maketrans({"\n": "\\n", "\t": "\\t"})
_LINE = re.compile(r"\n(?!  )")


def safe_text(text: str, limit: int = _MOST) -> str:
    r"""Escape a text for logs and terminals.

    Control characters and characters that cannot be encoded become escapes; lines after the first
    are indented. An escaped text stays unchanged.

    Args:
        text: The text to escape.
        limit: The maximum number of characters of the result.

    Example:
        >>> print(safe_text("no\x1b[2J\nERROR all is lost"))
        no\x1b[2J
          ERROR all is lost
    """
    return _cut(_LINE.sub("\n  ", _escaped(text[: limit + 1])), limit)


def safe_end(text: str, limit: int = _MOST) -> str:
    """Return the last `limit` characters of a text, escaped as by `safe_text`."""
    return _LINE.sub("\n  ", _escaped(text[-limit:]))[-limit:]


def one_line(text: str, limit: int = _MOST) -> str:
    """Return a text as `safe_text` does, with its line breaks and tabs escaped too."""
    return _cut(_escaped(text[: limit + 1]).translate(_BREAKS), limit)


def text_of(item: object) -> str:
    """Return `str` of a foreign object, or a placeholder if `str` fails."""
    return _called(str, item)


def repr_of(item: object, limit: int = _MOST) -> str:
    """Return `repr` of a foreign object on one line, or a placeholder if `repr` fails.

    Args:
        item: The object. Only the beginning of long text and bytes is used.
        limit: The maximum number of characters.
    """
    if isinstance(item, (str, bytes)) and len(item) > limit:
        return f"{one_line(_called(repr, item[:limit]))[: limit - 1]}…"
    return one_line(_called(repr, item), limit)


def kind_of(item: object) -> str:
    """Return the name of an object's class, on one line of 200 characters at most."""
    return one_line(str.__str__(type.__dict__["__name__"].__get__(type(item))), 200)


def traceback_of(exc: BaseException, limit: int = _MOST) -> str:
    """Return the last `limit` characters of the traceback of an exception and its causes."""
    try:
        text = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
    except Exception as failure:  # noqa: BLE001  # the user's exception class may fail
        return f"(the traceback cannot be formatted: {kind_of(failure)})"
    return safe_end(text, limit)


def _called(function: Callable[[object], str], item: object) -> str:
    try:
        return "".join([function(item)])  # a plain `str`, even of a class derived from it
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # noqa: BLE001  # `__str__` and `__repr__` may do anything
        return f"<{kind_of(item)} whose {function.__name__} raises {kind_of(exc)}>"


def _escaped(text: str) -> str:
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: max(limit - 1, 0)]}…"
