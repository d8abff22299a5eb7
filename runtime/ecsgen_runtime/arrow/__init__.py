"""Arrow: columns and tables read from it, and written to it."""

from .arrow_export import chunk_table, join_table, record_batches, table_schema
from .arrow_import import read_column

__all__ = [
    "chunk_table",
    "join_table",
    "read_column",
    "record_batches",
    "table_schema",
]
