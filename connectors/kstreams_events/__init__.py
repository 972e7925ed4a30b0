"""Intakes for server-sent events and WebSockets.

`EventStream` resumes after the last event it received, with `Last-Event-ID`. `WebSocket` cannot
resume: messages sent while it is disconnected are lost, and each disconnection is counted as a gap.
Depends on httpx and websockets, and on the core's contracts.

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
