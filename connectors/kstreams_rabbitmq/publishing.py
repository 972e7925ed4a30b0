"""Publishes messages to a stream, and waits until the broker confirms them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kstreams_rabbitmq.session import Session, refused, schema

__all__ = ("publish",)

_PUBLISHER = 0
_MOST_UNDER_WAY = 5_000
_FRAME_OVERHEAD, _ENTRY_OVERHEAD = 64, 12


def publish(
    session: Session, stream: str, entries: Sequence[tuple[int, bytes]], *, name: str = ""
) -> None:
    """Publish messages in order; return when the broker has confirmed all.

    Args:
        session: A session with the leader of the stream.
        stream: The stream.
        entries: The publishing id, which increases, and the bytes of each message.
        name: The publisher name: the broker confirms and drops messages whose ids it already has.
            Without a name, the broker does not deduplicate.

    Raises:
        RefusedError: The broker rejects some messages.
        OSError: It is unknown whether some messages were published.
    """
    number = session.number()
    declared = schema.DeclarePublisher(number, _PUBLISHER, name, stream)
    session.request(schema.DeclarePublisherResponse, declared)
    under_way: set[int] = set()
    for some in _frames(entries, session.frame_bytes):
        session.send(schema.Publish(_PUBLISHER, some))
        under_way.update(message.publishing_id for message in some)
        while len(under_way) > _MOST_UNDER_WAY:
            _settle(session, under_way)
    while under_way:
        _settle(session, under_way)
    deleted = schema.DeletePublisher(session.number(), _PUBLISHER)
    session.request(schema.DeletePublisherResponse, deleted)


def _frames(
    entries: Iterable[tuple[int, bytes]], frame_bytes: int
) -> Iterable[list[schema.Message]]:
    some: list[schema.Message] = []
    size = _FRAME_OVERHEAD
    for number, data in entries:
        needs = _ENTRY_OVERHEAD + len(data)
        if some and (size + needs > frame_bytes or len(some) >= _MOST_UNDER_WAY):
            yield some
            some, size = [], _FRAME_OVERHEAD
        some.append(schema.Message(number, None, data))
        size += needs
    if some:
        yield some


def _settle(session: Session, under_way: set[int]) -> None:
    frame = session.next()
    if isinstance(frame, schema.PublishConfirm):
        under_way.difference_update(frame.publishing_ids)
    elif isinstance(frame, schema.PublishError):
        raise refused(frame.errors[0].response_code, "the broker rejects messages")
