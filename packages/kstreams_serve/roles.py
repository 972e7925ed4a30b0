"""The permissions of a visitor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kstreams_serve.problems import Problem

__all__ = ("Role", "Visitor", "no_token", "require")


class Role(IntEnum):
    """The permissions of a visitor; each role includes the previous ones.

    Attributes:
        OPEN: The health of the server, and the login page.
        METRICS: Counters, without keys and values.
        VIEW: Apps, stores, batches, tasks.
        DATA: Keys, values, and error texts, which may quote them.
        ACT: Nondestructive commands to an app.
    """

    OPEN = 0
    METRICS = 1
    VIEW = 2
    DATA = 3
    ACT = 4


@dataclass(frozen=True)
class Visitor:
    """The sender of a request.

    Attributes:
        role: The role.
        name: The owner of the token; empty if the operator has not named one.
    """

    role: Role
    name: str = ""


def require(has: Role, role: Role) -> None:
    """Check that a visitor has a role; all protocols use this function.

    Raises:
        Problem: The visitor's role is lower.
    """
    if has >= role:
        return
    if has is Role.OPEN:
        raise no_token("the request needs a token")
    given, wanted = has.name.lower(), role.name.lower()
    raise Problem(403, f"the request needs the role {wanted}, the token has the role {given}")


def no_token(detail: str) -> Problem:
    """Return the problem of a missing or unknown token."""
    return Problem(
        401,
        detail,
        hint="send `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": 'Bearer realm="kstreams"'},
    )
