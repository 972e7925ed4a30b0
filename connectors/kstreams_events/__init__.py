"""Intakes for server-sent events and WebSockets.

`EventStream` goes on after the last event that it has, by `Last-Event-ID`. `WebSocket` cannot: what
comes while nobody listens is gone, which is counted as a gap. Depends on httpx and websockets, and
on the core's contracts.

Example:
    >>> from kstreams_events import EventStream, WebSocket
    >>> EventStream("https://shop/events", headers={"Authorization": "Bearer secret"})
    EventStream(url='https://shop/events')
    >>> WebSocket("wss://exchange/trades", greetings=('{"subscribe": "EURUSD"}',))
    WebSocket(url='wss://exchange/trades')
"""

from __future__ import annotations

from kstreams_events.event_stream import EventStream
from kstreams_events.web_socket import WebSocket

__all__ = ("EventStream", "WebSocket")
