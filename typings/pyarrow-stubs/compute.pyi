# pyarrow makes these functions when it is imported, so that no reader of its sources sees them.
from typing import Any

def __getattr__(name: str) -> Any: ...
