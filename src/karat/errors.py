"""The errors that karat raises: all are a `KaratError`.

>>> from karat.errors import ColumnError, DataError
>>> issubclass(ColumnError, DataError)
True
"""

from karat.core.errors import ColumnError, DataError, JoinError, KaratError, MissingExtra, RowError, SpecError
from karat.models.governor.faults import ModelError

__all__ = [
    "ColumnError",
    "DataError",
    "JoinError",
    "KaratError",
    "MissingExtra",
    "ModelError",
    "RowError",
    "SpecError",
]
