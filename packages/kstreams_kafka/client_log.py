"""Logging of librdkafka's lines, without the secrets of its options."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kstreams_kafka.client_options import ClientOptions

__all__ = ("ClientLog",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter


class ClientLog(_Adapter):
    """The logger of one client; pass it as `logger=`.

    Args:
        options: The client's options.
    """

    def __init__(self, options: ClientOptions) -> None:
        super().__init__(_LOG, {})
        self._options = options

    def log(self, level: int, msg: object, *args: object, **more: Any) -> None:  # noqa: ANN401
        """Log one of librdkafka's lines."""
        if self.isEnabledFor(level):
            text = str(msg) % args if args else str(msg)
            self.logger.log(level, "%s", self._options.scrub(text), **more)
