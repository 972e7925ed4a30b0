"""The option of `kstreams serve` that sets limits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from kstreams_cli.pairs import pairs_of
from kstreams_cli.usage import WrongUsageError

if TYPE_CHECKING:
    from kstreams_serve.settings import Limits

__all__ = ("LIMIT", "limits_of")

LIMIT = "--limit"


def limits_of(given: Iterable[str]) -> Limits:
    """Return the limits of a server: defaults, replaced by options of the form `NAME=VALUE`.

    Raises:
        WrongUsageError: A name is not that of a limit, or a value is not positive.
    """
    from kstreams_serve.settings import Limits  # noqa: PLC0415  # needs the extra

    usual: dict[str, int | float] = asdict(Limits())
    changed: dict[str, int | float] = {}
    for name, text in pairs_of(given, LIMIT).items():
        if name not in usual:
            raise WrongUsageError(
                f"there is no limit {name!r}; expected one of {', '.join(usual)}", LIMIT
            )
        changed[name] = _value(name, text, type(usual[name]))
    return replace(Limits(), **changed)  # type: ignore[arg-type]  # each of its own kind


def _value(name: str, text: str, kind: type[int | float]) -> int | float:
    try:
        found = kind(text)
    except ValueError as exc:
        raise WrongUsageError(f"{name} is {text!r}; expected a number", LIMIT) from exc
    if not 0 < found < math.inf:
        raise WrongUsageError(f"{name} is {text!r}; expected a positive number", LIMIT)
    return found
