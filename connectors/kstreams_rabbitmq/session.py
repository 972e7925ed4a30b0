"""A connection to a broker by the stream protocol: one request at a time, without threads.

The module uses the frames of rstream but not its producer and consumer, which need an event loop,
reconnect by themselves, and resume at their own offsets.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Generator
from contextlib import closing, suppress
from typing import TypeVar

from kstreams_rabbitmq.address import Address, RefusedError

try:
    from rstream import schema
    from rstream.constants import OffsetType
    from rstream.encoding import decode_frame, encode_frame, encode_publish
    from rstream.exceptions import ServerError
except ImportError as error:
    raise ImportError(
        "RabbitMQ streams need a client: pip install 'kstreams-spark[rabbitmq]'"
    ) from error

__all__ = ("OffsetType", "Session", "refused", "schema")

F = TypeVar("F", bound=schema.Frame)
"""The type of a response."""

_TIMEOUT_S = 10.0
_FRAME_BYTES = 1024 * 1024
_LARGEST_BYTES = 512 * 1024 * 1024
_NO_LEADER = 65535
_OK = 1
_PARTITIONS, _PARTITIONS_ANSWER = b"\0\x19", b"\x80\x19"
"""The header of the reply that lists the streams of a super stream: wrong, and correct.

Brokers before 3.11 send the wrong header, which is that of the request.
"""


class Session:
    """A connection to the broker that leads a stream.

    Args:
        address: The address of any broker of the cluster.
        stream: The stream; None connects to the broker itself.

    Attributes:
        frame_bytes: The maximum size of a frame.

    Raises:
        RefusedError: The broker rejects the login, or the stream does not exist.
        OSError: The broker does not answer.
    """

    def __init__(self, address: Address, stream: str | None = None) -> None:
        self._requests = 0
        self._subscriptions = 0
        self._waiting: deque[schema.Frame] = deque()
        own = self._connect(address, address.host, address.port)
        if stream is not None:
            try:
                leader = self._leader(stream)
            except BaseException:
                self.close()
                raise
            if leader != own:
                self.close()
                self._connect(address, *leader)

    def request(self, kind: type[F], frame: schema.Frame, *, codes: tuple[int, ...] = (_OK,)) -> F:
        """Send a request and return its response; frames that arrive before it are queued.

        Args:
            kind: The type of the response.
            frame: The request, with a correlation id from `number`.
            codes: Response codes to accept; all others are errors.

        Raises:
            RefusedError: The broker rejects the request.
            OSError: The connection is lost.
        """
        self.send(frame)
        while True:
            answer = self._read()
            if isinstance(answer, kind) and answer.corr_id == frame.corr_id:
                code = int(getattr(answer, "response_code", _OK))
                if code not in codes:
                    raise refused(code, type(frame).__name__)
                return answer
            self._waiting.append(answer)

    def number(self) -> int:
        """Return a new correlation id, for the next request."""
        self._requests += 1
        return self._requests

    def send(self, frame: schema.Frame) -> None:
        """Send a frame."""
        data = encode_publish(frame) if isinstance(frame, schema.Publish) else encode_frame(frame)
        self._socket.sendall(data)

    def next(self) -> schema.Frame:
        """Return the next frame that is not a response."""
        return self._waiting.popleft() if self._waiting else self._read()

    def chunks(
        self, stream: str, place: OffsetType, value: int | None = None, *, ahead: int = 1
    ) -> Generator[schema.Deliver]:
        """Yield the chunks of a stream from a position up to its current end.

        Args:
            stream: The stream.
            place: The type of the start position.
            value: The offset, or the time in ms, if the position type needs one.
            ahead: The number of chunks the broker sends in advance.
        """
        self._subscriptions = (self._subscriptions + 1) % 256
        number = self._subscriptions
        spec = schema.OffsetSpec.from_params(place, value)
        frame = schema.Subscribe(self.number(), number, stream, spec, ahead, [])
        self.request(schema.SubscribeResponse, frame)
        try:
            while True:
                # the broker sends the queued frames before the response to a later request
                self._metadata(stream)
                delivered = [f for f in self._waiting if isinstance(f, schema.Deliver)]
                came = [each for each in delivered if each.subscription_id == number]
                self._waiting.clear()
                if not came:
                    return
                for chunk in came:
                    self.send(schema.Credit(number, 1))
                    yield chunk
        finally:
            self.request(schema.UnsubscribeResponse, schema.Unsubscribe(self.number(), number))
            self._waiting.clear()

    def chunk(
        self, stream: str, place: OffsetType, value: int | None = None
    ) -> schema.Deliver | None:
        """Return the first chunk from a position on; None at the end."""
        with closing(self.chunks(stream, place, value)) as chunks:
            return next(chunks, None)

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            self._buffer.close()
            self._socket.close()

    def _connect(self, address: Address, host: str, port: int) -> tuple[str, int]:
        """Connect and log in; return the host and port that the broker advertises."""
        plain = socket.create_connection((host, port), timeout=_TIMEOUT_S)
        context = address.context()
        try:
            plain.settimeout(_TIMEOUT_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = context.wrap_socket(plain, server_hostname=host) if context else plain
        except BaseException:
            plain.close()
            raise
        self._buffer = self._socket.makefile("rb", 256 * 1024)
        try:
            return self._log_in(address, (host, port))
        except BaseException:
            self.close()
            raise

    def _log_in(self, address: Address, otherwise: tuple[str, int]) -> tuple[str, int]:
        said = [schema.Property("product", "kstreams"), schema.Property("platform", "Python")]
        self.request(schema.PeerPropertiesResponse, schema.PeerProperties(self.number(), said))
        self.request(schema.SaslHandshakeResponse, schema.SaslHandshake(self.number()))
        login = f"\0{address.user}\0{address.password}".encode()
        self.request(
            schema.SaslAuthenticateResponse,
            schema.SaslAuthenticate(self.number(), "PLAIN", login),
        )
        tune = self.next()
        if not isinstance(tune, schema.Tune):
            raise OSError(
                f"RabbitMQ at {otherwise[0]}:{otherwise[1]} sent {type(tune).__name__} after the "
                "login, expected Tune (the limits of the connection)"
            )
        self.frame_bytes = min(tune.frame_max or _FRAME_BYTES, _FRAME_BYTES)
        self.send(schema.Tune(self.frame_bytes, 0))  # no heartbeats between batches
        opened = self.request(schema.OpenResponse, schema.Open(self.number(), address.vhost))
        told = {each.key: each.value for each in opened.properties}
        host, port = told.get("advertised_host"), told.get("advertised_port", "")
        return (host, int(port)) if host and port.isdigit() else otherwise

    def _leader(self, stream: str) -> tuple[str, int]:
        answer = self._metadata(stream)
        (found,) = answer.metadata
        if found.response_code != _OK:
            raise refused(found.response_code, f"the leader of stream {stream!r} was requested")
        if found.leader_ref == _NO_LEADER:
            raise RefusedError("LeaderNotAvailable", f"stream {stream!r} has no leader now")
        for each in answer.brokers:
            if each.reference == found.leader_ref:
                return each.host, each.port
        raise RefusedError(
            "LeaderNotAvailable", f"the metadata has no address of the leader of stream {stream!r}"
        )

    def _metadata(self, stream: str) -> schema.MetadataResponse:
        return self.request(schema.MetadataResponse, schema.Metadata(self.number(), [stream]))

    def _read(self) -> schema.Frame:
        while True:
            size = int.from_bytes(self._exactly(4), "big")
            if size > _LARGEST_BYTES:
                raise OSError(
                    f"the broker sent a frame of {size:,} bytes; the maximum is {_LARGEST_BYTES:,}"
                )
            data = self._exactly(size)
            if data[:2] == _PARTITIONS:
                data = _PARTITIONS_ANSWER + data[2:]
            try:
                frame = decode_frame(data)
            except (ValueError, KeyError) as exc:
                raise RefusedError("UnknownFrame", str(exc)) from None
            if isinstance(frame, schema.Close):
                raise OSError(f"the broker closed the connection: {frame.reason}")
            if isinstance(frame, schema.MetadataUpdate):
                raise OSError("the stream was deleted, or has moved to another broker")
            if not isinstance(frame, schema.Heartbeat):
                return frame

    def _exactly(self, size: int) -> bytes:
        data: bytes = self._buffer.read(size)
        if len(data) < size:
            raise ConnectionResetError("the broker has closed the connection")
        return data


def refused(code: int, what: str) -> RefusedError:
    """Return the error for a response code of the broker.

    Args:
        code: The response code.
        what: The rejected request or its stream, for the error.
    """
    kind = ServerError.from_code(code)
    return RefusedError(kind.__name__ if kind is not ServerError else f"code {code}", what)
