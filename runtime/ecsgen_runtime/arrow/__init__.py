"""Arrow: columns to other libraries and back. What needs pyarrow is imported at the first use."""
