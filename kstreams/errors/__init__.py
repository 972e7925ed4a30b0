"""Every error that the library raises, by phase.

All derive from `KStreamsError`, which has a message with the expected and the actual value, `where`
(the known parts of node, store, topic, partition, offset and key) and a `hint` with the next step.
Most also derive from a builtin exception, such as `ValueError`.

- `TopologyError`, `CompileError`, `PluginError`: before anything runs. Change the topology or the
  settings.
- `SerializationError`, `DeserializationError`: a serde cannot convert a key or a value.
- `ProcessingError`: user code raised. `LimitError`: a limit is reached; a setting raises the limit.
  `LoopError`: a record has passed a loop too often.
- `UnknownTopicError`, `DataLossError`, `RecordRefusedError`, `BrokerUnavailableError`: topics.
- `SinkError`, `SinkUnavailableError`: sinks other than topics. `IntakeError`,
  `IntakeUnavailableError`: sources that deliver each message once.
- `SourceError`, `SourceUnavailableError`, `FileChangedError`: sources other than topics.
- `StoreError` and its subclasses: state and the durable log.
- `CheckpointMismatchError`, `NoCheckpointError`, `SavepointError`, `AppLockedError`: checkpoints.
- `ReplayError`: a committed batch cannot be replayed.

Two warnings of `TopologyBuilder.build` are not errors: a `LostChangesWarning` for a function that
changes its own object, and a `LateResultsWarning` for windows that drop results of other windows.

The errors can be pickled. docs/error-reference.md lists causes and remedies of each error.

Example:
    >>> from kstreams import TopologyBuilder
    >>> from kstreams.errors import TopologyError
    >>> try:
    ...     TopologyBuilder("orders").build()
    ... except TopologyError as error:
    ...     error.problems
    ('there is no source: add one with add_source',)
"""

from __future__ import annotations

from kstreams.errors.base import KStreamsError, Where
from kstreams.errors.building import (
    CompileError,
    KafkaOptionsError,
    LateResultsWarning,
    LostChangesWarning,
    OptionError,
    PartitionCountError,
    PluginError,
    TopologyError,
    UnknownNodeError,
)
from kstreams.errors.execution import (
    AppLockedError,
    DeserializationError,
    EventTimeError,
    ExecutionError,
    FencedError,
    IntakeError,
    IntakeUnavailableError,
    JavaNotFoundError,
    LimitError,
    LoopError,
    OutsideBatchError,
    ProcessingError,
    RegistryUnavailableError,
    ReplayError,
    SerdeError,
    SerializationError,
    SinkError,
    SinkUnavailableError,
    SourceError,
    SourceUnavailableError,
    WorkerDiedError,
)
from kstreams.errors.state import (
    CheckpointMismatchError,
    ForeignDirectoryError,
    InvalidNameError,
    LogMismatchError,
    NoCheckpointError,
    ObjectMissingError,
    SavepointError,
    ServerRefusedError,
    ServerUnavailableError,
    StateCorruptError,
    StoreError,
    StoreKindError,
    StoreOpenError,
    VersionGoneError,
)
from kstreams.errors.topics import (
    BrokerUnavailableError,
    CorruptSegmentError,
    DataLossError,
    DeliveryError,
    FileChangedError,
    InvalidTopicError,
    KafkaRequestError,
    MisplacedKeyError,
    RecordRefusedError,
    RowsRefusedError,
    TopicExistsError,
    TopicFormatError,
    TopicRecreatedError,
    TransactionError,
    TransactionTimeoutError,
    UnknownPartitionError,
    UnknownTopicError,
)

__all__ = (
    "AppLockedError",
    "BrokerUnavailableError",
    "CheckpointMismatchError",
    "CompileError",
    "CorruptSegmentError",
    "DataLossError",
    "DeliveryError",
    "DeserializationError",
    "EventTimeError",
    "ExecutionError",
    "FencedError",
    "FileChangedError",
    "ForeignDirectoryError",
    "IntakeError",
    "IntakeUnavailableError",
    "InvalidNameError",
    "InvalidTopicError",
    "JavaNotFoundError",
    "KStreamsError",
    "KafkaOptionsError",
    "KafkaRequestError",
    "LateResultsWarning",
    "LimitError",
    "LogMismatchError",
    "LoopError",
    "LostChangesWarning",
    "MisplacedKeyError",
    "NoCheckpointError",
    "ObjectMissingError",
    "OptionError",
    "OutsideBatchError",
    "PartitionCountError",
    "PluginError",
    "ProcessingError",
    "RecordRefusedError",
    "RegistryUnavailableError",
    "ReplayError",
    "RowsRefusedError",
    "SavepointError",
    "SerdeError",
    "SerializationError",
    "ServerRefusedError",
    "ServerUnavailableError",
    "SinkError",
    "SinkUnavailableError",
    "SourceError",
    "SourceUnavailableError",
    "StateCorruptError",
    "StoreError",
    "StoreKindError",
    "StoreOpenError",
    "TopicExistsError",
    "TopicFormatError",
    "TopicRecreatedError",
    "TopologyError",
    "TransactionError",
    "TransactionTimeoutError",
    "UnknownNodeError",
    "UnknownPartitionError",
    "UnknownTopicError",
    "VersionGoneError",
    "Where",
    "WorkerDiedError",
)
