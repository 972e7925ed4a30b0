"""What a visitor may see and do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kstreams_serve.problems import Problem

__all__ = ("Role", "Visitor", "no_token", "require")


class Role(IntEnum):
    """What a visitor may see and do; each role may do what those before it may.

    Attributes:
        OPEN: Whether the server lives; the way in.
        METRICS: Counters, without keys and values.
        VIEW: What there is: apps, stores, batches, tasks.
        DATA: Keys, values, and the texts of errors, which may quote them.
        ACT: Orders to an app, of those that destroy nothing.
    """

    OPEN = 0
    METRICS = 1
    VIEW = 2
    DATA = 3
    ACT = 4


@dataclass(frozen=True)
class Visitor:
    """Who asks.

    Attributes:
        role: What they may see and do.
        name: Who has their token; empty where the operator has given it no name.
    """

    role: Role
    name: str = ""


def require(has: Role, role: Role) -> None:
    """Make sure that a visitor may have what needs a role: the one place where that is decided.

    Raises:
        Problem: They may not.
    """
    if has >= role:
        return
    if has is Role.OPEN:
        raise no_token("this needs a token")
    raise Problem(403, f"this needs the role {role.name.lower()}, the token has {has.name.lower()}")


def no_token(detail: str) -> Problem:
    """Return what says that a token is missing, or none of the server's."""
    return Problem(
        401,
        detail,
        hint="send `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": 'Bearer realm="kstreams"'},
    )
