"""Public signatures have types with public names, and no `Any`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.kstreams.public_signatures import ANY, mentions, undocumented

ERASED = {
    "AggregateSupplier": "a builder has suppliers of any types; its own parameters carry them",
    "AheadRows": "a kind of store works for keys and values of any types",
    "CompositeSerde": "likewise",
    "Content": "likewise",
    "Field.computation": "asked by `over`, which knows the values by their serde",
    "Feed.update": "its supplier's parameters carry the types",
    "Found": "a kind of store works for keys and values of any types",
    "Joiner.function": "either value may be missing, by `how`; its parameters carry the types",
    "Overlay": "likewise",
    "PlainForm": "likewise",
    "PresentColumns": "likewise",
    "Replaced": "likewise",
    "StoreKind": "likewise",
    "StoreOverlay": "likewise",
    "TableAccess": "likewise",
    "TableColumns": "likewise",
    "Fnv1aPartitioner.partition_batch(keys)": "a column of pyarrow, which has no types",
    "FunctionPartitioner.partition_batch(keys)": "likewise",
    "Murmur2Partitioner.partition_batch(keys)": "likewise",
    "Partitioner.partition_batch(keys)": "a column of pyarrow, which has no types",
    "ProcessorNode.supplier": "a built topology has nodes of any types; handles carry them",
    "LoopNode": "likewise",
    "ProcessorNode.stores": "likewise",
    "ProcessorNode.reads": "likewise",
    "ProcessorNode.keyed": "likewise",
    "ProcessorNode.valued": "likewise",
    "ProcessorNode.globals": "likewise",
    "GlobalDefinition": "likewise",
    "GlobalTable.store": "likewise",
    "IntakeRunner.__init__(topic)": "topics of any type",
    "ResultFrames": "likewise",
    "transform_frames(frames)": "likewise",
    "write_each(writers)": "likewise",
    "RepartitionNode.key": "likewise",
    "RepartitionNode.value": "likewise",
    "SinkNode.target": "likewise",
    "SourceNode.topic": "likewise",
    "SourceNode.log": "likewise",
    "SerdeByText.make": "what is typed in means a serde of any type",
    "SerdeByText.recorded": "likewise",
    "SerdeRequest.inner": "likewise",
    "StoreSpec.key": "a definition has the type of the store it makes, not those of its parts",
    "StoreSpec.value": "likewise",
    "TopicChoice.key": "a topic with nulls has a serde of values without them",
    "TopicChoice.value": "likewise",
    "CogroupedStream.__init__(feeds)": "the library creates it from streams of any types",
    "GroupedStream.__init__": "likewise",
    "GroupedTable.__init__": "likewise",
    "WindowResults.__init__(supplier)": "likewise",
    "objects_of()": "of a column of any type",
}
"""Places where `Any` is correct, and the reasons."""

ENGINE = {
    "AggregateSupplier": "handed on to add_processor or aggregate_table",
    "Overlay": "what a task gives it, and keeps of it from batch to batch",
    "TopologyTestDriver.connection": "handed on to what takes `Embedded` or `Kafka`",
    "View.__init__": "by `_over`, for a view of the same version",
    "RemoteView.__init__": "likewise: its own takes a URL",
    "TopicView.__init__": "likewise: its own takes a topic",
    "App.__init__": "`Embedded` or `Kafka`, which is checked at the call",
    "IntakeRunner.__init__": "likewise",
    "Directory.open": "an `ObjectStore`, of which tests ask more",
    "Embedded.log": "the segments themselves, for the library and its tests",
    "Emitter.__init__": "`Embedded` or `Kafka`, which do not know each other",
    "Field.computation": "called by `over`",
    "ForkSource.load": "called by an app at its start",
    "Kafka.feed": "called by an app at its start",
    "Kafka.client_options": "for the library's own clients",
    "KafkaWriter.__init__": "made by `Kafka.writer`",
    "ResultFrames": "made by `transform_frames`, asked by `write_each`",
    "SourceNode.event_time": "what a source was given, in one value",
    "Table.rows": "how a task reads it",
    "CogroupedStream.__init__": "created by the steps of streams",
    "GlobalTable.__init__": "likewise",
    "GroupedStream.__init__": "likewise",
    "GroupedTable.__init__": "likewise",
    "Joinable.__init__": "likewise",
    "Loop.__init__": "likewise",
    "Near.__init__": "likewise",
    "Stream.__init__": "likewise",
    "Table.__init__": "likewise",
    "WindowResults.__init__": "likewise",
    "Upkeep": "called by a task at the end of a commit",
    "VersionedTable.history": "how a task reads its versions",
    "WindowedSupplier": "handed on to add_processor or split_late",
    "CalendarWindows.engine": "for `windowed_aggregate`, as of the other kinds of windows",
    "HoppingWindows.engine": "likewise",
    "SessionWindows.engine": "likewise",
    "SlidingWindows.engine": "likewise",
    "TumblingWindows.engine": "likewise",
    "UnlimitedWindows.engine": "likewise",
    "windowed(windows)": "windows with such an engine",
}
"""Public names with a parameter only the engine uses (it creates live stores), and its purpose."""


def test_no_public_signature_uses_type_any_except_those_of_listed_names() -> None:
    shown = sorted({each.place for each in mentions() if each[1:] == ANY})
    assert [place for place in shown if not _is_of(ERASED, place)] == []
    assert [name for name in ERASED if not any(map(_below(name), shown))] == []


def test_types_in_signatures_are_public() -> None:
    private = [
        each for each in mentions() if each[1:] != ANY and "Store.__init__(" not in each.place
    ]
    found = {f"{each.place}: {each.name}" for each in private if not _is_of(ENGINE, each.place)}
    assert sorted(found) == []


def test_each_engine_name_exempt_from_signature_check_is_used_in_a_signature() -> None:
    places = [each.place for each in mentions() if each[1:] != ANY]
    assert [name for name in ENGINE if not any(map(_below(name), places))] == []


def test_all_public_names_have_docstrings() -> None:
    assert list(undocumented()) == []


def _is_of(names: Iterable[str], place: str) -> bool:
    return any(_below(name)(place) for name in names)


def _below(name: str) -> Callable[[str], bool]:
    return lambda place: place == name or place.startswith((f"{name}.", f"{name}("))
