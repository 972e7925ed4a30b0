"""What a registry refuses, before an app starts."""

from __future__ import annotations

from kstreams.errors import CompileError

__all__ = ("SchemaRefusedError",)


class SchemaRefusedError(CompileError, ValueError):
    """A schema is not in the registry, does not fit what is there, or cannot be read.

    Nothing was written. The message shows the difference.

    Attributes:
        subject: Where it was looked for.
    """

    def __init__(self, message: str, *, subject: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.subject = subject
