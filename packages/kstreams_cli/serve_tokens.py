"""The tokens of `kstreams serve`: from a file or the environment, or new ones."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kstreams_cli.consoles import stderr

if TYPE_CHECKING:
    from kstreams_serve.roles import Role

__all__ = ("ACT_TOKEN", "TOKEN", "Tokens", "tokens_of")

TOKEN = "KSTREAMS_SERVE_TOKEN"  # noqa: S105  # the name of a variable
ACT_TOKEN = "KSTREAMS_SERVE_ACT_TOKEN"  # noqa: S105  # likewise


@dataclass(frozen=True)
class Tokens:
    """The tokens of a server.

    Attributes:
        roles: The roles, by token.
        holders: The names of the tokens' owners, by token.
        are_new: Whether the tokens were created at this start, so that they must be shown.
    """

    roles: dict[str, Role] = field(repr=False)
    holders: dict[str, str] = field(default_factory=dict, repr=False)
    are_new: bool = False

    def show(self) -> None:
        """Print new tokens to stderr; nothing if the tokens are not new."""
        for token, role in self.roles.items() if self.are_new else ():
            kind = "token" if role.name == "DATA" else f"token of the role {role.name.lower()}"
            stderr().print(f"{kind} {token}", soft_wrap=True, highlight=False)


def tokens_of(file: Path | None, *, allow_actions: bool) -> Tokens:
    """Return the tokens of a file, else of the environment, else new tokens.

    Raises:
        ServeError: The file cannot be read, or other users may read it.
    """
    from kstreams_serve.roles import Role  # noqa: PLC0415  # needs the extra
    from kstreams_serve.settings import ServeSettings, read_tokens  # noqa: PLC0415  # likewise

    if file is not None:
        return Tokens(*read_tokens(file))
    wanted = {TOKEN: Role.DATA, ACT_TOKEN: Role.ACT} if allow_actions else {TOKEN: Role.DATA}
    given = {name: os.environ.pop(name, None) for name in wanted}
    found = {token: wanted[name] for name, token in given.items() if token is not None}
    if found:
        return Tokens(found)
    return Tokens({ServeSettings.new_token(): role for role in wanted.values()}, are_new=True)
