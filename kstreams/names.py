"""Valid names: one rule for all names that become a component of a path.

`check_step` checks names of apps and savepoints when a user passes them; `build()` checks names of
nodes and stores (`name_problem`). Directories of nodes still use `path_step`, because a checkpoint
of an earlier version may have node names with slashes. Names are case-sensitive; on a
case-insensitive file system `A` and `a` are the same name.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from kstreams.errors import InvalidNameError

__all__ = (
    "MAX_NAME_BYTES",
    "TOPIC_RULE",
    "check_checkpoint_id",
    "check_step",
    "is_checkpoint_id",
    "is_path_below",
    "is_topic",
    "name_problem",
    "path_step",
    "shown_name",
    "step_problem",
    "text_problem",
)

MAX_NAME_BYTES = 255
"""The maximum length of a path step in bytes: the limit of Linux file systems and NFS."""

TOPIC_RULE = "1 to 249 ASCII letters, digits, '.', '_' and '-', without '.' as the first"
"""The rule for topic names in both kinds of connections."""

_TOPIC = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,248}")
_CHECKPOINT_ID = re.compile(r"[0-9a-f]{12}")
_SHOWN_CHARS = 80
_UNSHOWN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories of line separators, control characters and surrogates."""


def shown_name(name: object) -> str:
    """Return a name as a message shows it: escaped, on one line, not too long."""
    text = repr(name)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def text_problem(name: object) -> str:
    """Return, as one line of text, why a name is invalid; empty if it is valid."""
    if not isinstance(name, str):
        return f"it is a {type(name).__name__}, not a string"
    if not name:
        return "it is empty"
    if any(unicodedata.category(char) in _UNSHOWN for char in name):
        return "it has control characters, line breaks or a lone surrogate"
    return ""


def name_problem(name: object) -> str:
    """Return why a name is invalid for a node or a store; empty if it is valid.

    These names become directories, labels of metrics, and text in messages and diagrams.
    """
    if problem := text_problem(name):
        return problem
    return _path_problem(str(name)) or _size_problem(str(name))


def step_problem(name: object) -> str:
    """Return why a name is invalid as one component of a path; empty if it is valid."""
    if problem := text_problem(name):
        return problem
    text = str(name)
    if problem := _path_problem(text):
        return problem
    if text.startswith("."):
        return "it begins with a '.', like hidden files"
    return _size_problem(text)


def _size_problem(text: str) -> str:
    size = len(text.encode())
    if size <= MAX_NAME_BYTES:
        return ""
    return f"it has {size} bytes, but a file name may have at most {MAX_NAME_BYTES}"


def _path_problem(text: str) -> str:
    if "/" in text:
        return "it has a '/', which leads to another directory"
    if text in ("", ".", ".."):
        return "it refers to an existing directory"
    return "it has a null character" if "\0" in text else ""


def path_step(name: str) -> str:
    """Return a path component for any name: the name itself if it is valid, else the quoted name.

    Different names have different components.
    """
    if _path_problem(name) or name.startswith("%"):
        return f"%{quote(name, safe='')}"
    return name


def is_path_below(name: str) -> bool:
    """Return whether a relative path stays below its base directory."""
    return not any(_path_problem(step) for step in name.split("/"))


def check_step(what: str, name: str) -> str:
    """Return the name if it is a valid component of a path.

    Args:
        what: The object that has the name, for the error message: `"the app's id"`.
        name: The name to check.

    Raises:
        InvalidNameError: The name is invalid. The message has the reason and the escaped name.
    """
    if problem := step_problem(name):
        raise InvalidNameError(f"{what} cannot be {shown_name(name)}: {problem}", name=str(name))
    return name


def is_checkpoint_id(name: object) -> bool:
    """Return whether the value is a valid checkpoint id: 12 hex digits."""
    return isinstance(name, str) and _CHECKPOINT_ID.fullmatch(name) is not None


def check_checkpoint_id(name: object, place: str) -> str:
    """Return a checkpoint id from a file if it is valid.

    Args:
        name: The value that the file has as its checkpoint id.
        place: The name of the file, for the error message.

    Raises:
        InvalidNameError: The value is not a checkpoint id.
    """
    if isinstance(name, str) and is_checkpoint_id(name):
        return name
    raise InvalidNameError(
        f"{place} has the checkpoint id {shown_name(name)}, expected 12 hex digits",
        name=str(name),
        hint="the file was changed: restore it from a copy.",
    )


def is_topic(name: object) -> bool:
    """Return whether the name is valid for topics of Kafka and embedded topics."""
    return isinstance(name, str) and _TOPIC.fullmatch(name) is not None
