"""Quote what is not ours: texts of foreign objects, bounded, harmless, and always to be had.

Exceptions, keys and values carry text that others wrote, and code of theirs makes it. What
is made here can be logged, printed, encoded and sent: no control character, no lone
surrogate, and no line that begins like one of ours.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable

__all__ = ("kind_of", "one_line", "repr_of", "safe_end", "safe_text", "text_of", "traceback_of")

_MOST = 30_000
"""Characters of a text, unless a caller says otherwise."""

# Control characters, separators of lines, what turns the direction of text, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = str.maketrans({"\n": "\\n", "\t": "\\t"})
_LINE = re.compile(r"\n(?!  )")


def safe_text(text: str, limit: int = _MOST) -> str:
    r"""Return a text that does nothing but show.

    Characters that a terminal or a log would obey, and those that cannot be encoded, become
    escapes; lines after the first are indented. A text that went through comes out as it is.

    Args:
        text: Any text.
        limit: Characters of the result at most.

    Example:
        >>> print(safe_text("no\x1b[2J\nERROR all is lost"))
        no\x1b[2J
          ERROR all is lost
    """
    return _cut(_LINE.sub("\n  ", _escaped(text[: limit + 1])), limit)


def safe_end(text: str, limit: int = _MOST) -> str:
    """Return what `safe_text` does of the end of a text, where its last lines say most."""
    return _LINE.sub("\n  ", _escaped(text[-limit:]))[-limit:]


def one_line(text: str, limit: int = _MOST) -> str:
    """Return a text as `safe_text` does, with its line breaks and tabs escaped too."""
    return _cut(_escaped(text[: limit + 1]).translate(_BREAKS), limit)


def text_of(item: object) -> str:
    """Return `str` of a foreign object; a text that says so where it has none."""
    return _called(str, item)


def repr_of(item: object, limit: int = _MOST) -> str:
    """Return `repr` of a foreign object on one line; a text that says so where it has none.

    Args:
        item: Anything. Of long text and bytes only the beginning is looked at.
        limit: Characters at most.
    """
    if isinstance(item, (str, bytes)) and len(item) > limit:
        return f"{one_line(_called(repr, item[:limit]))[: limit - 1]}…"
    return one_line(_called(repr, item), limit)


def kind_of(item: object) -> str:
    """Return the name of an object's class, on one line of 200 characters at most."""
    return one_line(str.__str__(type.__dict__["__name__"].__get__(type(item))), 200)


def traceback_of(exc: BaseException, limit: int = _MOST) -> str:
    """Return an exception's traceback, and those of its causes: the last characters of it."""
    try:
        text = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
    except Exception as failure:  # noqa: BLE001  # of an exception class of the user's
        return f"(the traceback cannot be had: {kind_of(failure)})"
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
