"""A batch without Spark: its plan, and the calls, input, output and results of its tasks.

The modules of this package are the driver's part: read `QueryDriver`, which plans and commits, and
`BatchRun`, which runs the tasks. They use the packages `planning` (the records of the next batch)
and `worker` (runs of stages and tasks). Both use the packages `messages`, which the driver and
tasks exchange, and `io`, which reads and writes topics, logs and sinks.
"""

from __future__ import annotations

from kstreams.other_kstreams import refuse_other_kstreams as _refuse_other_kstreams

_refuse_other_kstreams()
