"""Logs of files: folders of this machine, and what others bring by a `Files` of their own.

Read `FileLog` first, then `FileContents`, which plans, and `FileReader`, which reads in workers.
A `Format` makes records of a file; the `FileIndex` keeps which offsets a file has, for ever.
Nothing here depends on pyspark.
"""

from __future__ import annotations
