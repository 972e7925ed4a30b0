"""Steps that read values of one schema as those of another.

Each step has two forms: one value at a time (`read`), and a column at a time, over the bytes of
many values (`column`). Start with `step.py`; `kstreams_avro.resolution` combines the steps.
"""

from __future__ import annotations
