"""Steps that make values of what one schema has written, as another one reads them.

Each does it in two ways: one value at a time (`read`), and a column at a time, over the bytes
of many values at once (`column`). Begin with `step.py`; what they are put together from is
`kstreams_avro.resolution`.
"""

from __future__ import annotations
