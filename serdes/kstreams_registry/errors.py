"""Errors of rejected schemas, before an app starts."""

from __future__ import annotations

from kstreams.errors import CompileError

__all__ = ("SchemaRefusedError",)


class SchemaRefusedError(CompileError, ValueError):
    """A schema is not registered, is incompatible, or cannot be read.

    Nothing was written. The message has the difference to the schema in the registry, if any.

    Attributes:
        subject: The subject.
    """

    def __init__(self, message: str, *, subject: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.subject = subject
