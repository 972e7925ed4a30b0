from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Version(_message.Message):
    __slots__ = ("batch", "savepoint", "at_ms", "least")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    SAVEPOINT_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    batch: int
    savepoint: str
    at_ms: int
    least: int
    def __init__(self, batch: _Optional[int] = ..., savepoint: _Optional[str] = ..., at_ms: _Optional[int] = ..., least: _Optional[int] = ...) -> None: ...

class Committed(_message.Message):
    __slots__ = ("batch", "wall_ms", "tag")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    batch: int
    wall_ms: int
    tag: str
    def __init__(self, batch: _Optional[int] = ..., wall_ms: _Optional[int] = ..., tag: _Optional[str] = ...) -> None: ...

class Key(_message.Message):
    __slots__ = ("data", "text", "json")
    DATA_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    text: str
    json: str
    def __init__(self, data: _Optional[bytes] = ..., text: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...

class Row(_message.Message):
    __slots__ = ("key", "value", "times", "json")
    class TimesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    times: _containers.ScalarMap[str, int]
    json: str
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., times: _Optional[_Mapping[str, int]] = ..., json: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListReply(_message.Message):
    __slots__ = ("apps",)
    class Store(_message.Message):
        __slots__ = ("name", "kind", "key_serde", "value_serde")
        NAME_FIELD_NUMBER: _ClassVar[int]
        KIND_FIELD_NUMBER: _ClassVar[int]
        KEY_SERDE_FIELD_NUMBER: _ClassVar[int]
        VALUE_SERDE_FIELD_NUMBER: _ClassVar[int]
        name: str
        kind: str
        key_serde: str
        value_serde: str
        def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., key_serde: _Optional[str] = ..., value_serde: _Optional[str] = ...) -> None: ...
    class App(_message.Message):
        __slots__ = ("name", "stores")
        NAME_FIELD_NUMBER: _ClassVar[int]
        STORES_FIELD_NUMBER: _ClassVar[int]
        name: str
        stores: _containers.RepeatedCompositeFieldContainer[ListReply.Store]
        def __init__(self, name: _Optional[str] = ..., stores: _Optional[_Iterable[_Union[ListReply.Store, _Mapping]]] = ...) -> None: ...
    APPS_FIELD_NUMBER: _ClassVar[int]
    apps: _containers.RepeatedCompositeFieldContainer[ListReply.App]
    def __init__(self, apps: _Optional[_Iterable[_Union[ListReply.App, _Mapping]]] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("app", "wanted", "version", "json")
    class Wanted(_message.Message):
        __slots__ = ("store", "key", "from_ms", "to_ms")
        STORE_FIELD_NUMBER: _ClassVar[int]
        KEY_FIELD_NUMBER: _ClassVar[int]
        FROM_MS_FIELD_NUMBER: _ClassVar[int]
        TO_MS_FIELD_NUMBER: _ClassVar[int]
        store: str
        key: Key
        from_ms: int
        to_ms: int
        def __init__(self, store: _Optional[str] = ..., key: _Optional[_Union[Key, _Mapping]] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ...) -> None: ...
    APP_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    app: str
    wanted: _containers.RepeatedCompositeFieldContainer[ReadRequest.Wanted]
    version: Version
    json: bool
    def __init__(self, app: _Optional[str] = ..., wanted: _Optional[_Iterable[_Union[ReadRequest.Wanted, _Mapping]]] = ..., version: _Optional[_Union[Version, _Mapping]] = ..., json: _Optional[bool] = ...) -> None: ...

class ReadReply(_message.Message):
    __slots__ = ("version", "found")
    class Found(_message.Message):
        __slots__ = ("rows",)
        ROWS_FIELD_NUMBER: _ClassVar[int]
        rows: _containers.RepeatedCompositeFieldContainer[Row]
        def __init__(self, rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    version: Committed
    found: _containers.RepeatedCompositeFieldContainer[ReadReply.Found]
    def __init__(self, version: _Optional[_Union[Committed, _Mapping]] = ..., found: _Optional[_Iterable[_Union[ReadReply.Found, _Mapping]]] = ...) -> None: ...

class RowsRequest(_message.Message):
    __slots__ = ("app", "store", "start", "end", "prefix", "from_ms", "to_ms", "reverse", "version", "limit", "cursor", "json")
    APP_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    REVERSE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    app: str
    store: str
    start: Key
    end: Key
    prefix: bytes
    from_ms: int
    to_ms: int
    reverse: bool
    version: Version
    limit: int
    cursor: str
    json: bool
    def __init__(self, app: _Optional[str] = ..., store: _Optional[str] = ..., start: _Optional[_Union[Key, _Mapping]] = ..., end: _Optional[_Union[Key, _Mapping]] = ..., prefix: _Optional[bytes] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., reverse: _Optional[bool] = ..., version: _Optional[_Union[Version, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., json: _Optional[bool] = ...) -> None: ...

class RowsReply(_message.Message):
    __slots__ = ("version", "rows", "cursor")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    version: Committed
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    cursor: str
    def __init__(self, version: _Optional[_Union[Committed, _Mapping]] = ..., rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ..., cursor: _Optional[str] = ...) -> None: ...

class FollowRequest(_message.Message):
    __slots__ = ("app", "store", "key", "seen", "json")
    APP_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    app: str
    store: str
    key: Key
    seen: str
    json: bool
    def __init__(self, app: _Optional[str] = ..., store: _Optional[str] = ..., key: _Optional[_Union[Key, _Mapping]] = ..., seen: _Optional[str] = ..., json: _Optional[bool] = ...) -> None: ...

class FollowReply(_message.Message):
    __slots__ = ("version", "rows")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    version: Committed
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    def __init__(self, version: _Optional[_Union[Committed, _Mapping]] = ..., rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ...) -> None: ...
