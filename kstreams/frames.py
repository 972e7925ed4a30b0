"""A topology as a transformation of streaming DataFrames.

`transform_frames(topology, {TOPIC: frame})` transforms the DataFrames of a topology's sources to
DataFrames of its sinks. They can be anything that Spark reads and writes, on classic sessions and
on Spark Connect. It returns `ResultFrames`. A `SourceFrame` names the columns of a source;
`write_each` writes several sinks by one query, each topic's rows by a `FrameWriter`;
`dropped_counts` reads the rows that count dropped records. `frame_settings` returns the recommended
settings of a session. `fork=` starts with the state of an app's savepoint, and `starting_offsets`
returns the offsets after the savepoint; `View(FrameState(...), STORE)` reads the state of a query.
`Operator` selects the Spark operator. The query and its checkpoint belong to Spark:
docs/dataframes.md.

Example:
    >>> from kstreams import TEXT, Topic, TopologyBuilder
    >>> from kstreams.errors import CompileError
    >>> from kstreams.frames import transform_frames
    >>> LINES = Topic("lines", key=TEXT, value=TEXT)
    >>> builder = TopologyBuilder("copy")
    >>> builder.add_sink("copied", Topic("copied", TEXT, TEXT), builder.add_source("lines", LINES))
    >>> try:
    ...     transform_frames(builder.build(), {})
    ... except CompileError as error:
    ...     error.message
    "there is no DataFrame for 'lines'"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.lazy import lazy_names

if TYPE_CHECKING:
    from kstreams.spark.frames.dropped import dropped_counts
    from kstreams.spark.frames.frame_state import FrameState
    from kstreams.spark.frames.inherited import starting_offsets
    from kstreams.spark.frames.operators import Operator
    from kstreams.spark.frames.results import ResultFrames
    from kstreams.spark.frames.settings import frame_settings
    from kstreams.spark.frames.source_frame import SourceFrame
    from kstreams.spark.frames.transform import transform_frames
    from kstreams.spark.frames.write_each import FrameWriter, write_each
else:  # a checker would take any name then
    __getattr__ = lazy_names(
        __name__,
        {
            "Operator": "kstreams.spark.frames.operators",
            "ResultFrames": "kstreams.spark.frames.results",
            "FrameState": "kstreams.spark.frames.frame_state",
            "starting_offsets": "kstreams.spark.frames.inherited",
            "SourceFrame": "kstreams.spark.frames.source_frame",
            "transform_frames": "kstreams.spark.frames.transform",
            "FrameWriter": "kstreams.spark.frames.write_each",
            "dropped_counts": "kstreams.spark.frames.dropped",
            "frame_settings": "kstreams.spark.frames.settings",
            "write_each": "kstreams.spark.frames.write_each",
        },
    )

__all__ = (
    "FrameState",
    "FrameWriter",
    "Operator",
    "ResultFrames",
    "SourceFrame",
    "dropped_counts",
    "frame_settings",
    "starting_offsets",
    "transform_frames",
    "write_each",
)
