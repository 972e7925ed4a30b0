"""Files as logs: folders of this machine, and other collections of files.

Read `FileLog` first, then `FileContents`, which plans, and `FileReader`, which reads in workers. A
`Format` parses a file into records; the `FileIndex` permanently stores the offsets of each file.
This package does not depend on pyspark.
"""

from __future__ import annotations
