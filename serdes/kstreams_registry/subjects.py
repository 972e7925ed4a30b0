"""The names of the registry subjects with the schemas of a topic."""

from __future__ import annotations

from enum import Enum

from kstreams.serde import Schema

__all__ = ("SubjectName", "subject_of")


class SubjectName(Enum):
    """The rule for the name of a subject.

    Source: `io.confluent.kafka.serializers.subject.TopicNameStrategy` and its siblings.
    """

    TOPIC = "topic"
    """`<topic>-key` or `<topic>-value`: one schema, with its versions, per topic."""

    RECORD = "record"
    """The record's or message's full name: one schema in all topics."""

    TOPIC_RECORD = "topic-record"
    """`<topic>-<full name>`: several kinds of records in one topic."""


def subject_of(subject: SubjectName | str, schema: Schema, topic: str | None, part: str) -> str:
    """Return the name of a subject.

    Args:
        subject: The rule, or the name itself.
        schema: The written schema.
        topic: The name of the topic, if it is known.
        part: `key` or `value`.

    Raises:
        ValueError: The rule needs a name that is missing. The message has the missing name.
    """
    if isinstance(subject, str):
        return subject
    if subject is not SubjectName.RECORD and topic is None:
        raise ValueError(
            f"{subject} needs the topic's name, but the topic is chosen for each record"
        )
    if subject is SubjectName.TOPIC:
        return f"{topic}-{part}"
    if not schema.record_name:
        raise ValueError(f"{subject} needs the record's name, but the schema has none")
    name = schema.record_name
    return name if subject is SubjectName.RECORD else f"{topic}-{name}"
